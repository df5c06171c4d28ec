#include "redis/counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace tenure::test {
namespace {

std::atomic<std::size_t> in_use = 0;
std::atomic<std::size_t> peak = 0;

void* take(std::size_t bytes) noexcept {
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) return nullptr;
  const std::size_t size = malloc_usable_size(memory);
  const std::size_t now = in_use.fetch_add(size) + size;
  std::size_t before = peak;
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
  return memory;
}

void* take_or_throw(std::size_t bytes) {
  if (void* const memory = take(bytes)) return memory;
  throw std::bad_alloc();
}

void give(void* memory) noexcept {
  if (memory != nullptr) in_use -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

std::size_t memory_in_use() { return in_use; }
std::size_t memory_peak() { return peak; }
void forget_peak() { peak = in_use.load(); }

}  // namespace tenure::test

void* operator new(std::size_t bytes) { return tenure::test::take_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return tenure::test::take_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept { return tenure::test::take(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept { return tenure::test::take(bytes); }
void operator delete(void* memory) noexcept { tenure::test::give(memory); }
void operator delete[](void* memory) noexcept { tenure::test::give(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { tenure::test::give(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept { tenure::test::give(memory); }

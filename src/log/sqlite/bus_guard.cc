#include "log/sqlite/bus_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

namespace tenure::sqlite {
namespace {

struct Guarded {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> begin = 0;  // zero: a free place
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<std::atomic<bool>*> harmed = nullptr;
};

std::array<Guarded, BusGuard::kGuardsMax> guarded_mappings;
struct sigaction handler_before{};
std::uintptr_t page_bytes = 4096;

// Runs in a signal handler, so it may only use system calls and atomics.
bool mend(std::uintptr_t at) {
  for (const Guarded& guarded : guarded_mappings) {
    const std::uintptr_t begin = guarded.begin.load(std::memory_order_acquire);
    if (begin == 0 || at < begin || at >= guarded.end.load(std::memory_order_relaxed)) continue;
    guarded.harmed.load(std::memory_order_relaxed)->store(true, std::memory_order_release);
    auto* const page = reinterpret_cast<void*>(at / page_bytes * page_bytes);
    return mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  }
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error_number = errno;
  const bool mended = info->si_code == BUS_ADRERR && mend(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = error_number;
  if (mended) return;
  if ((handler_before.sa_flags & SA_SIGINFO) != 0) {
    handler_before.sa_sigaction(signal, info, context);
  } else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
    handler_before.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);  // retried, the instruction ends the process
  }
}

void install_handler() {
  page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &handler_before);
}

}  // namespace

BusGuard::BusGuard(void* begin, std::size_t bytes, std::atomic<bool>& harmed) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  for (std::size_t i = 0; i < guarded_mappings.size(); ++i) {
    Guarded& slot = guarded_mappings.at(i);
    if (slot.taken.exchange(true)) continue;
    slot.harmed.store(&harmed, std::memory_order_relaxed);
    slot.end.store(reinterpret_cast<std::uintptr_t>(begin) + bytes, std::memory_order_relaxed);
    slot.begin.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_release);
    slot_ = static_cast<int>(i);
    return;
  }
}

BusGuard::BusGuard(BusGuard&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

BusGuard::~BusGuard() {
  if (slot_ < 0) return;
  Guarded& slot = guarded_mappings.at(static_cast<std::size_t>(slot_));
  slot.begin.store(0, std::memory_order_release);
  slot.taken.store(false, std::memory_order_release);
}

void let_bus_errors_through() {
  sigset_t bus;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &bus, nullptr);
}

}  // namespace tenure::sqlite

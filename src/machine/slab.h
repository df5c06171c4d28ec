#pragma once

// Objects with small stable numbers, in blocks. Growing never moves an object, so a million keys arrive without a
// stall. Numbers are reused last-in-first-out. That order is part of the state, and restoring keeps it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "base/fetch_ahead.h"

namespace tenure {

constexpr std::uint32_t kNone = UINT32_MAX;

template <class T>
class Slab {
 public:
  std::uint32_t add() {
    ++live_;
    if (!free_.empty()) {
      const std::uint32_t id = free_.back();
      free_.pop_back();
      return id;
    }
    if (end_ % kBlock == 0) blocks_.push_back(std::make_unique<T[]>(kBlock));
    return end_++;
  }

  // Resets the object, so that nothing of it outlives the removal.
  void remove(std::uint32_t id) {
    T& object = (*this)[id];
    std::destroy_at(&object);
    std::construct_at(&object);
    free_.push_back(id);
    --live_;
  }

  // Inlined by request: as a call it cost a hundredth of all work.
  [[gnu::always_inline]] T& operator[](std::uint32_t id) {
    ASSERT(id < end_);
    return blocks_[id / kBlock][id % kBlock];
  }
  [[gnu::always_inline]] const T& operator[](std::uint32_t id) const {
    ASSERT(id < end_);
    return blocks_[id / kBlock][id % kBlock];
  }

  // For a pass over many objects: fetches the object from memory while earlier ones are processed.
  void prefetch(std::uint32_t id) const {
    ASSERT(id < end_);
    fetch_ahead(&blocks_[id / kBlock][id % kBlock], sizeof(T));
  }

  std::uint32_t end() const { return end_; }  // one past the largest number ever used
  std::uint32_t live() const { return live_; }
  const std::vector<std::uint32_t>& free_list() const { return free_; }

  // For restoring: makes room for numbers below `end`, of which those in `free` are unused.
  void reset(std::uint32_t end, std::vector<std::uint32_t> free) {
    blocks_.clear();
    for (std::uint32_t i = 0; i < end; i += kBlock) blocks_.push_back(std::make_unique<T[]>(kBlock));
    end_ = end;
    live_ = end - static_cast<std::uint32_t>(free.size());
    free_ = std::move(free);
  }

 private:
  static constexpr std::uint32_t kBlock = 1024;

  std::vector<std::unique_ptr<T[]>> blocks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t end_ = 0;
  std::uint32_t live_ = 0;
};

}  // namespace tenure

#pragma once

// The slots of a pool. Their number may grow but not shrink, and slots never move, so a thread that looks for a free
// one takes no lock.

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <tenure/checkout_options.hpp>

#include "checkout/slot.h"

namespace tenure {

class SlotTable {
 public:
  using Slot = detail::CheckoutSlot;

  struct Claimed {
    Slot* slot = nullptr;
    std::uint64_t generation = 0;
  };

  explicit SlotTable(CheckoutCore* core) : core_(core) {}

  // Makes room for this many slots. With the pool's mutex held.
  void reserve(std::size_t slots) {
    for (std::size_t have = size(); have < slots; have += kChunk) {
      chunks_[have / kChunk] = std::make_unique<Chunk>();
      for (Slot& slot : *chunks_[have / kChunk]) slot.core = core_;
      size_.store(have + kChunk, std::memory_order_release);
    }
  }
  // Sets how many slots are in use. With the pool's mutex held.
  void set_used(std::size_t slots) { used_.store(slots, std::memory_order_release); }

  std::size_t used() const { return used_.load(std::memory_order_acquire); }
  Slot& operator[](std::size_t index) { return (*chunks_[index / kChunk])[index % kChunk]; }
  const Slot& operator[](std::size_t index) const { return (*chunks_[index / kChunk])[index % kChunk]; }

  // Claims a free slot, if it finds one, starting at `from`.
  Claimed claim_any(std::size_t from) {
    const std::size_t slots = used();
    if (slots == 0) return {};
    std::size_t index = from % slots;
    for (std::size_t i = 0; i < slots; ++i) {
      Slot& slot = (*this)[index];
      if (const std::uint64_t generation = slot.try_claim(); generation != 0) return {&slot, generation};
      if (++index == slots) index = 0;
    }
    return {};
  }

 private:
  static constexpr std::size_t kChunk = 64;
  using Chunk = std::array<Slot, kChunk>;

  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  CheckoutCore* const core_;
  std::array<std::unique_ptr<Chunk>, CheckoutOptions::kMaxWorkers / kChunk> chunks_;
  std::atomic<std::size_t> size_{0};
  std::atomic<std::size_t> used_{0};
};

}  // namespace tenure

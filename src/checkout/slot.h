#pragma once

// A place for one worker. What is contended is one word: the state, and a generation that grows with every claim.
//
//            give()                    claim(): one compare-and-swap
//     vacant ──────▶ free(g) ─────────────────────────────────▶ held(g+1)
//        ▲                ◀──────────────────────────────────────  │
//        └───────────────────────── retire() ──────────────────────┘
//                                  a checkin: one plain store
//
// Whoever got a slot from free to held owns it, and all else in it that is not guarded by the pool's mutex, until it
// makes the slot free again. This may be a caller with a lease, or the pool itself. Since nobody else writes the word
// of a held slot, a checkin needs no atomic read-modify-write. A lease knows its generation, so that a checkin that
// comes too late, or twice, finds another one and does nothing.

#include <atomic>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <tenure/checkout_lease.hpp>
#include <tenure/checkout_worker.hpp>

#include "base/clock.h"

namespace tenure::detail {

enum class SlotPhase : std::uint8_t { vacant, starting, live, stopping };

struct alignas(128) CheckoutSlot : CheckoutSlotHead {
  // The word is the generation, shifted, and the state.
  std::atomic<std::uint64_t> word{0};
  std::atomic<std::uint32_t> marks{0};        // changed with the mutex held
  std::atomic<std::source_location> where{};  // of the checkout; read by the leak detection
  CheckoutCore* core = nullptr;               // never changes
  WorkerPtr owner{nullptr, [](void*) {}};     // changes only between vacant and live, by who owns the slot

  // Guarded by the pool's mutex.
  SlotPhase phase = SlotPhase::vacant;
  std::uint64_t number = 0;  // of the worker
  std::uint64_t round = 0;   // of its start; see StartBook
  Instant started;
  Instant expires;
  std::uint64_t seen_word = 0;  // as the sweeper saw it last
  Instant seen_since;           // and since when
  bool leak_told = false;
  bool died_young = false;  // the alarm came before the factory returned
  std::string reason;       // of its death
  std::function<void(std::string)> on_death;

  // Marks. A slot that has any is not made free without the mutex.
  static constexpr std::uint32_t kDied = 1;     // it is to be replaced,
  static constexpr std::uint32_t kExpired = 2;  // for this reason or that
  static constexpr std::uint32_t kWatched = 4;  // the holder wants to hear of its death
  static constexpr std::uint32_t kSlow = 8;     // as all slots of the pool

  static constexpr std::uint64_t kFree = 1;
  static constexpr std::uint64_t kHeld = 2;
  static constexpr std::uint64_t kStates = 3;
  static constexpr std::uint64_t kFreeToHeld = 4 + kHeld - kFree;  // with the next generation

  static constexpr std::uint64_t free_word(std::uint64_t generation) { return generation << 2 | kFree; }
  static constexpr std::uint64_t held_word(std::uint64_t generation) { return generation << 2 | kHeld; }
  static constexpr std::uint64_t vacant_word(std::uint64_t generation) { return generation << 2; }
  static constexpr std::uint64_t generation_of(std::uint64_t word) { return word >> 2; }
  static constexpr bool is_free(std::uint64_t word) { return (word & kStates) == kFree; }
  static constexpr bool is_held(std::uint64_t word) { return (word & kStates) == kHeld; }

  bool has(std::uint32_t mark) const { return (marks.load(std::memory_order_relaxed) & mark) != 0; }
  void mark(std::uint32_t mark) {
    marks.store(marks.load(std::memory_order_relaxed) | mark, std::memory_order_relaxed);
  }
  void unmark(std::uint32_t mark) {
    marks.store(marks.load(std::memory_order_relaxed) & ~mark, std::memory_order_relaxed);
  }

  // Gives the generation under which the slot is now held, or zero.
  std::uint64_t try_claim() {
    const std::uint64_t seen = word.load(std::memory_order_relaxed);
    if (!is_free(seen)) return 0;
    std::uint64_t expected = seen;
    return word.compare_exchange_strong(expected, seen + kFreeToHeld) ? generation_of(seen) + 1 : 0;
  }
};

static_assert(std::atomic<std::source_location>::is_always_lock_free);

}  // namespace tenure::detail

#pragma once

// A place for one worker. The contended part is one word: the state, and a generation that grows with every claim.
//
//            give()                    claim(): one compare-and-swap
//     vacant ──────▶ free(g) ─────────────────────────────────▶ held(g+1)
//        ▲                ◀──────────────────────────────────────  │
//        └───────────────────────── retire() ──────────────────────┘
//                                  a checkin: one plain store
//
// The thread that moves a slot from free to held owns it, and everything in it that the pool's mutex does not guard,
// until it frees the slot. It may be a caller with a lease, or the pool itself. Nobody else writes the word of a held
// slot, so a checkin needs no atomic read-modify-write. A lease knows its generation: a late or second checkin finds
// another one and does nothing.
//
// The part that the fast path uses is in include/tenure/checkout_fast.hpp.

#include <atomic>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <tenure/checkout_fast.hpp>
#include <tenure/checkout_worker.hpp>

#include "base/clock.h"

namespace tenure::detail {

enum class SlotPhase : std::uint8_t { vacant, starting, live, stopping };

struct alignas(128) CheckoutSlot : CheckoutSlotHead {
  WorkerPtr owner{nullptr, [](void*) {}};  // changes only between vacant and live, by who owns the slot

  // Guarded by the pool's mutex.
  SlotPhase phase = SlotPhase::vacant;
  std::uint64_t number = 0;  // of the worker
  std::uint64_t round = 0;   // of its start; see StartBook
  Instant started;
  Instant expires;
  std::uint64_t seen_word = 0;  // at the last sweep
  Instant seen_since;           // since when it has this value
  bool leak_told = false;
  bool died_young = false;  // the alarm came before the factory returned
  std::string reason;       // of its death
  std::function<void(std::string)> on_death;

  static constexpr std::uint64_t vacant_word(std::uint64_t generation) { return generation << 2; }
  static constexpr bool is_held(std::uint64_t word) { return (word & kStates) == kHeld; }

  void mark(std::uint32_t mark) {
    marks.store(marks.load(std::memory_order_relaxed) | mark, std::memory_order_relaxed);
  }
  void unmark(std::uint32_t mark) {
    marks.store(marks.load(std::memory_order_relaxed) & ~mark, std::memory_order_relaxed);
  }
};

static_assert(std::atomic<std::source_location>::is_always_lock_free);

}  // namespace tenure::detail

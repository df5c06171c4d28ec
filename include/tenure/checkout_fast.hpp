#pragma once

// The fast way of a checkout and of its checkin, in a header so that it is inlined: calls, and what they pass through
// memory, took a third of its time. It is as much of a pool, of a slot and of a thread as these two need; the rest, and
// why it is right, is in src/checkout (core.h, slot.h, thread_mark.h). Nothing in here is for users.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <source_location>

namespace tenure {

class CheckoutCore;
struct Error;

namespace detail {

// A worker's place in its pool. See src/checkout/slot.h.
struct CheckoutSlotHead {
  void* worker = nullptr;
  // The word is the generation, shifted, and the state.
  std::atomic<std::uint64_t> word{0};
  std::atomic<std::uint32_t> marks{0};        // changed with the mutex held
  std::atomic<std::source_location> where{};  // of the checkout; set where leaks are looked for
  CheckoutCore* core = nullptr;               // never changes

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
  static constexpr std::uint64_t generation_of(std::uint64_t word) { return word >> 2; }
  static constexpr bool is_free(std::uint64_t word) { return (word & kStates) == kFree; }

  bool has(std::uint32_t mark) const { return (marks.load(std::memory_order_relaxed) & mark) != 0; }

  // Gives the generation under which the slot is now held, or zero.
  std::uint64_t try_claim() {
    const std::uint64_t seen = word.load(std::memory_order_relaxed);
    if (!is_free(seen)) return 0;
    std::uint64_t expected = seen;
    return word.compare_exchange_strong(expected, seen + kFreeToHeld) ? generation_of(seen) + 1 : 0;
  }
};

// A lease without its type: which slot, in which of its generations. A claim of an earlier generation does nothing.
// Two words, so that it is passed in registers.
struct CheckoutClaim {
  CheckoutSlotHead* slot = nullptr;
  std::uint64_t generation = 0;
};

// A claim, or, where its slot is null, why not: an error that now belongs to the caller, or none if the pool is
// overloaded, which must cost nothing.
struct CheckoutAnswer {
  CheckoutSlotHead* slot = nullptr;
  union {
    std::uint64_t generation = 0;
    Error* error;
  };
};

// What every checkout reads of its pool; written on the slow way only. The base of CheckoutCore.
struct alignas(128) CheckoutDoor {
  std::atomic<std::uint32_t> attention{0};
  const bool careful;      // workers are looked at when they are borrowed, or leaks are looked for
  const std::uint64_t id;  // never used again

  static constexpr std::uint32_t kSlow = 1;
  static constexpr std::uint32_t kGate = 2;
  static constexpr std::uint32_t kOverloaded = 4;

  CheckoutDoor(bool is_careful, std::uint64_t own_id) : careful(is_careful), id(own_id) {}
  // After a claim; before it a relaxed load does.
  bool gated() const { return (attention.load() & kGate) != 0; }
};

struct CheckoutMark {
  alignas(64) std::atomic<const CheckoutCore*> at{nullptr};
};

// What a thread knows. See src/checkout/thread_mark.h. The pool and the slot it had last are at a fixed place, so that
// a processor gets from there to the slot's word at once, and compares meanwhile.
struct CheckoutThread {
  struct Hint {
    std::uint64_t pool = 0;
    CheckoutSlotHead* slot = nullptr;
  };
  static constexpr std::size_t kHints = 8;

  Hint last{};
  CheckoutMark* mark = nullptr;
  Hint hints[kHints]{};  // of this pool and others; by the pool's id
};
// Constant from the beginning, so that no code has to be run before it is used.
extern thread_local constinit CheckoutThread own_checkouts;

// The ways on.
CheckoutAnswer checkout_attended(CheckoutDoor& door, std::chrono::nanoseconds timeout, bool force_enqueue,
                                 std::source_location where);
CheckoutAnswer checkout_claimed(CheckoutDoor& door, std::chrono::nanoseconds timeout, bool force_enqueue,
                                std::source_location where, CheckoutClaim claim);
void checkin_attended(CheckoutClaim claim) noexcept;
void checkin_late(CheckoutClaim claim) noexcept;

inline CheckoutAnswer checkout(CheckoutDoor& door, std::chrono::nanoseconds timeout, bool force_enqueue,
                               std::source_location where) {
  const CheckoutThread::Hint hint = own_checkouts.last;
  const bool quiet = door.attention.load(std::memory_order_relaxed) <= CheckoutDoor::kSlow;
  if (!quiet || hint.pool != door.id) [[unlikely]]
    return checkout_attended(door, timeout, force_enqueue, where);
  const std::uint64_t generation = hint.slot->try_claim();
  if (generation == 0) [[unlikely]]
    return checkout_attended(door, timeout, force_enqueue, where);
  if (door.gated() || door.careful || hint.slot->has(CheckoutSlotHead::kDied)) [[unlikely]]
    return checkout_claimed(door, timeout, force_enqueue, where, {hint.slot, generation});
  return {hint.slot, {generation}};
}

inline void checkin(CheckoutClaim claim) noexcept {
  CheckoutSlotHead& slot = *claim.slot;
  CheckoutMark* mark = own_checkouts.mark;
  const auto quiet = [&] { return slot.marks.load(std::memory_order_relaxed) == 0; };
  const bool held = slot.word.load(std::memory_order_relaxed) == CheckoutSlotHead::held_word(claim.generation);
  if (!quiet() || !held || mark == nullptr) [[unlikely]]
    return checkin_attended(claim);
  // The pool's memory stays while the mark is there; the release below is what makes it known in time.
  mark->at.store(slot.core, std::memory_order_relaxed);
  slot.word.store(CheckoutSlotHead::free_word(claim.generation), std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // light_fence(): see asymmetric_fence.h
  if (!quiet()) [[unlikely]]
    return checkin_late(claim);
  mark->at.store(nullptr, std::memory_order_release);
}

}  // namespace detail
}  // namespace tenure

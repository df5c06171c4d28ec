#pragma once

// The fast path of checkout and checkin. Not for users.
//
// It is in a header so that it is inlined: the calls, and the values they passed through memory, took a third of its
// time. It contains only the parts of a pool, a slot and a thread that the fast path needs. The rest, and the proof
// that it is correct, are in src/checkout (core.h, slot.h, thread_mark.h).

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <source_location>

namespace tenure {

class CheckoutCore;
struct Error;

namespace detail {

// The place of one worker in its pool. See src/checkout/slot.h.
struct CheckoutSlotHead {
  void* worker = nullptr;
  // The generation, shifted left by two, and the state in the low bits.
  std::atomic<std::uint64_t> word{0};
  std::atomic<std::uint32_t> marks{0};        // changed with the mutex held
  std::atomic<std::source_location> where{};  // of the checkout; set only if leak detection is on
  CheckoutCore* core = nullptr;               // never changes

  // Marks. A slot with any mark is freed only with the mutex held.
  static constexpr std::uint32_t kDied = 1;     // the worker is dead: replace it
  static constexpr std::uint32_t kExpired = 2;  // the worker is too old or was retired: replace it
  static constexpr std::uint32_t kWatched = 4;  // the holder asked for a callback on the worker's death
  static constexpr std::uint32_t kSlow = 8;     // all checkins of the pool take the mutex

  static constexpr std::uint64_t kFree = 1;
  static constexpr std::uint64_t kHeld = 2;
  static constexpr std::uint64_t kStates = 3;
  static constexpr std::uint64_t kFreeToHeld = 4 + kHeld - kFree;  // with the next generation

  static constexpr std::uint64_t free_word(std::uint64_t generation) { return generation << 2 | kFree; }
  static constexpr std::uint64_t held_word(std::uint64_t generation) { return generation << 2 | kHeld; }
  static constexpr std::uint64_t generation_of(std::uint64_t word) { return word >> 2; }
  static constexpr bool is_free(std::uint64_t word) { return (word & kStates) == kFree; }

  bool has(std::uint32_t mark) const { return (marks.load(std::memory_order_relaxed) & mark) != 0; }

  // Claims the slot if it is free. Returns the generation of the claim, or zero.
  std::uint64_t try_claim() {
    const std::uint64_t seen = word.load(std::memory_order_relaxed);
    if (!is_free(seen)) return 0;
    std::uint64_t expected = seen;
    return word.compare_exchange_strong(expected, seen + kFreeToHeld) ? generation_of(seen) + 1 : 0;
  }
};

// An untyped lease: a slot and a generation of it. A claim of an earlier generation has no effect. It is two words, so
// that it is passed in registers.
struct CheckoutClaim {
  CheckoutSlotHead* slot = nullptr;
  std::uint64_t generation = 0;
};

// A claim or an error. If `slot` is null, `error` belongs to the caller; a null `error` means that the pool is
// overloaded, so that a refusal allocates nothing.
struct CheckoutAnswer {
  CheckoutSlotHead* slot = nullptr;
  union {
    std::uint64_t generation = 0;
    Error* error;
  };
};

// The part of a pool that every checkout reads. Only the slow path writes it. The base of CheckoutCore.
struct alignas(128) CheckoutDoor {
  std::atomic<std::uint32_t> attention{0};
  const bool careful;      // the pool validates workers at checkout, or detects leaks
  const std::uint64_t id;  // never reused

  static constexpr std::uint32_t kSlow = 1;
  static constexpr std::uint32_t kGate = 2;
  static constexpr std::uint32_t kOverloaded = 4;

  CheckoutDoor(bool is_careful, std::uint64_t own_id) : careful(is_careful), id(own_id) {}
  // Call it after a claim. Before the claim a relaxed load is enough.
  bool gated() const { return (attention.load() & kGate) != 0; }
};

struct CheckoutMark {
  alignas(64) std::atomic<const CheckoutCore*> at{nullptr};
};

// The state of one thread. See src/checkout/thread_mark.h. The last pool and slot are at a fixed place, so that the
// processor can load the slot's word while it still compares the pool's id.
struct CheckoutThread {
  struct Hint {
    std::uint64_t pool = 0;
    CheckoutSlotHead* slot = nullptr;
  };
  static constexpr std::size_t kHints = 8;

  Hint last{};
  CheckoutMark* mark = nullptr;
  Hint hints[kHints]{};  // for this and other pools, indexed by the pool's id
};
// Constant-initialised, so that no code runs before the first use.
extern thread_local constinit CheckoutThread own_checkouts;

// The slow paths.
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
  // While the mark is set, the pool's memory is not freed. The release store below publishes the mark in time.
  mark->at.store(slot.core, std::memory_order_relaxed);
  slot.word.store(CheckoutSlotHead::free_word(claim.generation), std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // light_fence(): see asymmetric_fence.h
  if (!quiet()) [[unlikely]]
    return checkin_late(claim);
  mark->at.store(nullptr, std::memory_order_release);
}

}  // namespace detail
}  // namespace tenure

// The queue: which callers may join it, and how the first one gets a slot.

#include "checkout/asymmetric_fence.h"
#include "checkout/core.h"

namespace tenure {

CheckoutCore::Entry CheckoutCore::enter(Waiter& waiter, bool again, Claim& claim) {
  Outbox out;
  const Instant time = now();
  const std::lock_guard lock(mutex_);
  return enter(waiter, again, claim, time, out);
}

CheckoutCore::Entry CheckoutCore::enter(Waiter& waiter, bool again, Claim& claim, Instant time, Outbox& out) {
  if (down_ || (draining_ && !again)) return Entry::down;
  slow_down();
  if (!suspended_ && (again || queue_.empty()) && claim_free(waiter.where, claim, out)) return Entry::claimed;
  reconcile(queue_.size() + 1);
  if (!again && !has_room(waiter.forced)) {
    // "overloaded" would suggest to try again, which is wrong for a pool that has never worked.
    if (!started_once_ && live_ == 0 && starting_ == 0 && starts_.failures() > 0) return Entry::down;
    set_attention(kOverloaded, true);
    ++counts_.overloaded;
    return Entry::overloaded;
  }
  if (waiter.since == Instant{}) waiter.since = time;
  if (queue_.empty()) queue_since_ = time;
  if (again) {
    queue_.push_front(waiter);
  } else {
    queue_.push_back(waiter);
  }
  waiter.hold();
  update_gate();
  return Entry::queued;
}

void CheckoutCore::leave(Waiter& waiter) {
  Outbox out;
  const std::lock_guard lock(mutex_);
  if (!waiter.queued) return;
  unqueue(waiter, out);
  ++counts_.cancelled;
}

bool CheckoutCore::claim_free(std::source_location where, Claim& claim, Outbox& out) {
  for (;;) {
    const SlotTable::Claimed claimed = slots_.claim_any(ThreadMark::mine().number());
    if (claimed.slot == nullptr) return false;
    if (!claimed.slot->has(Slot::kDied | Slot::kExpired)) {
      claimed.slot->where.store(where, std::memory_order_relaxed);
      claim = {claimed.slot, claimed.generation};
      return true;
    }
    ++own_claims_;
    retire(*claimed.slot, out);
  }
}

// The queue has its own places, and one for each worker that is about to start. If the last worker of a pool has died,
// that includes the one that replaces it, even if it has to wait for the end of the old one or for a backoff.
bool CheckoutCore::has_room(bool forced) const {
  const auto waiting = static_cast<std::int64_t>(queue_.size());
  if (waiting >= CheckoutOptions::kMaxWaiters) return false;
  if (forced || options_.max_queue < 0) return true;
  const bool restarts = started_once_ && live_ == 0 && starting_ == 0 && (stopping_ > 0 || starts_.failures() > 0);
  return waiting < options_.max_queue + static_cast<std::int64_t>(starting_) + (restarts ? 1 : 0);
}

// Gives a slot that the caller owns to its next use.
void CheckoutCore::give(Slot& slot, std::uint64_t generation, Instant time, Outbox& out) {
  const bool unwanted = slot.has(Slot::kDied | Slot::kExpired) || live_ > options_.max_workers;
  if (down_ || unwanted) return retire(slot, out);
  if (draining_) quiet_.notify_all();
  if (hand_over(slot, generation, time, out)) return;
  slot.word.store(Slot::free_word(generation), std::memory_order_release);
  set_attention(kOverloaded, false);
  calm_down();
}

// Hands the slot to the first waiter that still wants it.
bool CheckoutCore::hand_over(Slot& slot, std::uint64_t& generation, Instant time, Outbox& out) {
  while (Waiter* waiter = next_waiter(time, out)) {
    ++generation;
    slot.word.store(Slot::held_word(generation), std::memory_order_release);
    slot.where.store(waiter->where, std::memory_order_relaxed);
    // The giving thread may have read the clock before the waiter did.
    const Nanos waited = std::max(time - waiter->since, Nanos(0));
    dequeue(*waiter);
    if (!waiter->grant({&slot, generation}, out)) {
      ++own_claims_;
      continue;
    }
    ++counts_.waited;
    counts_.wait_total += waited;
    counts_.wait_max = std::max(counts_.wait_max, waited);
    return true;
  }
  return false;
}

// Gives free slots to waiters.
void CheckoutCore::serve(Outbox& out) {
  while (!suspended_ && !queue_.empty()) {
    const SlotTable::Claimed claimed = slots_.claim_any(0);
    if (claimed.slot == nullptr) return;
    ++own_claims_;
    give(*claimed.slot, claimed.generation, now(), out);
  }
}

// Returns the first waiter. Before that, refuses waiters that have waited too long in a queue that does not empty.
Waiter* CheckoutCore::next_waiter(Instant time, Outbox& out) {
  if (suspended_ || queue_.empty()) return nullptr;
  if (options_.shed_target == CheckoutOptions::Millis(0)) return queue_.first();
  while (Waiter* waiter = queue_.first()) {
    const bool standing = time - queue_since_ > options_.shed_interval;
    if (!standing || waiter->forced || time - waiter->since <= options_.shed_target) return waiter;
    dequeue(*waiter);
    ++counts_.shed;
    waiter->refuse(Errc::overloaded, out);
  }
  return nullptr;
}

// For a waiter that gets no answer.
void CheckoutCore::unqueue(Waiter& waiter, Outbox& out) {
  dequeue(waiter);
  waiter.release(out);
}

void CheckoutCore::dequeue(Waiter& waiter) {
  queue_.remove(waiter);
  set_attention(kOverloaded, false);
  update_gate();
  if (draining_) quiet_.notify_all();
}

void CheckoutCore::refuse_all(Errc code, Outbox& out) {
  while (Waiter* waiter = queue_.first()) {
    dequeue(*waiter);
    waiter->refuse(code, out);
  }
}

// From here on every checkin takes the mutex.
void CheckoutCore::slow_down() {
  calm_ = 0;
  if ((attention.load(std::memory_order_relaxed) & kSlow) != 0) return;
  set_attention(kSlow, true);
  mark_slow(true);
  heavy_fence();
}

void CheckoutCore::mark_slow(bool on) {
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    if (on) {
      slots_[i].mark(Slot::kSlow);
    } else {
      slots_[i].unmark(Slot::kSlow);
    }
  }
}

// A checkin has found no waiter.
void CheckoutCore::calm_down() {
  if (attention.load(std::memory_order_relaxed) != kSlow || live_ > options_.max_workers) return;
  if (++calm_ < kCalm || !has_asymmetric_fence()) return;
  mark_slow(false);
  attention.store(0);
}

void CheckoutCore::set_attention(std::uint32_t bit, bool on) {
  const std::uint32_t present = attention.load(std::memory_order_relaxed);
  const std::uint32_t wanted = on ? present | bit : present & ~bit;
  if (wanted == present) return;
  attention.store(wanted);
  // A thread that sets the gate and then looks at the slots reads their words in no particular order. On x86 the store
  // is a full fence. On ARM a later read may overtake it, and miss a claim that has missed the gate.
  if (on) std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace tenure

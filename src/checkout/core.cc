#include "checkout/core.h"

#include "base/assert.h"
#include "base/deadline.h"
#include "base/result.h"
#include "base/thread_loop.h"
#include "checkout/asymmetric_fence.h"
#include "checkout/blocking_waiter.h"

namespace tenure {

namespace {

std::atomic<std::uint64_t> last_pool_id{0};

}  // namespace

CheckoutSurroundings CheckoutSurroundings::real(const CheckoutOptions& options) {
  return {std::make_shared<BootClock>(), std::make_unique<ThreadLoop>("checkout"),
          std::make_unique<ThreadExecutor>(options.parallel_starts),
          std::make_unique<SeededEntropy>(SystemEntropy().next())};
}

CheckoutCore::CheckoutCore(CheckoutOptions options, detail::AnyFactory factory, detail::AnyCheck validate,
                           CheckoutSurroundings surroundings)
    : CheckoutDoor(validate != nullptr || options.leak_after > CheckoutOptions::Millis(0), ++last_pool_id),
      name_(options.name),
      validate_(std::move(validate)),
      clock_(std::move(surroundings.clock)),
      factory_(std::move(factory)),
      options_(std::move(options)),
      entropy_(std::move(surroundings.entropy)),
      starts_(options_, *entropy_),
      target_(options_.default_workers),
      executor_(std::move(surroundings.executor)),
      loop_(std::move(surroundings.loop)) {
  slots_.reserve(options_.max_workers);
  slots_.set_used(options_.max_workers);
  if (!has_asymmetric_fence()) slow_down();
}

void CheckoutCore::begin() {
  const std::lock_guard lock(mutex_);
  reconcile();
  want_tick(now());
}

CheckoutCore::~CheckoutCore() {
  ASSERT(loop_ == nullptr && live_ == 0);
  ThreadMark::wait_until_left(this);
}

CheckoutCore::Entry CheckoutCore::quick(bool force, std::source_location where, Claim& claim) {
  const std::uint32_t seen = attention.load(std::memory_order_relaxed);
  if ((seen & kOverloaded) != 0 && !force) {
    refused_fast_.add(ThreadMark::mine().number());
    return Entry::overloaded;
  }
  if ((seen & kGate) != 0) return Entry::queued;
  ThreadMark& mark = ThreadMark::mine();
  claim.slot = static_cast<Slot*>(ThreadMark::last_slot(id));
  claim.generation = claim.slot != nullptr ? claim.slot->try_claim() : 0;
  if (claim.generation == 0) {
    const SlotTable::Claimed claimed = slots_.claim_any(mark.number());
    if (claimed.slot == nullptr) return Entry::queued;
    ThreadMark::set_last_slot(id, claimed.slot);
    claim = {claimed.slot, claimed.generation};
  }
  claim.slot->where.store(where, std::memory_order_relaxed);
  if (!gated()) return Entry::claimed;
  checkin(claim);
  return Entry::queued;
}

CheckoutCore::Answer CheckoutCore::checkout_attended(Nanos timeout, bool force, std::source_location where) {
  Claim claim;
  switch (quick(force, where, claim)) {
    case Entry::overloaded: return {};
    case Entry::claimed: return checkout_claimed(timeout, force, where, claim);
    default: return checkout_slow(timeout, force, where);
  }
}

// The slot is claimed. Its worker may still be unfit for use.
CheckoutCore::Answer CheckoutCore::checkout_claimed(Nanos timeout, bool force, std::source_location where,
                                                    Claim claim) {
  claim.slot->where.store(where, std::memory_order_relaxed);
  if (gated()) {
    checkin(claim);
  } else if (usable(claim)) {
    return {claim.slot, {claim.generation}};
  }
  return checkout_slow(timeout, force, where);
}

bool CheckoutCore::usable(Claim claim) {
  if (claim.slot->has(Slot::kDied)) {
    checkin(claim);
    return false;
  }
  if (!validate_) return true;
  bool valid = false;
  try {
    valid = validate_(claim.slot->worker);
  } catch (...) {
    valid = false;
  }
  if (valid) return true;
  Outbox out;
  const std::lock_guard lock(mutex_);
  ++counts_.invalid;
  emit(EventKind::invalid, claim.slot->number, "");
  retire(*claim.slot, out);
  return false;
}

CheckoutCore::Answer CheckoutCore::checkout_slow(Nanos timeout, bool force, std::source_location where) {
  const auto refused = [](Error error) { return Answer{nullptr, {.error = new Error(std::move(error))}}; };
  const SteadyTime deadline = after(timeout);
  BlockingWaiter waiter;
  waiter.forced = force;
  waiter.where = where;
  for (bool again = false;; again = true) {
    waiter.reset();
    Claim claim;
    Entry entry = enter(waiter, again, claim);
    if (entry == Entry::queued) {
      if (auto error = wait_for_answer(waiter, deadline)) return refused(*std::move(error));
      claim = {waiter.given().slot, waiter.given().generation};
      entry = waiter.granted()                       ? Entry::claimed
              : waiter.refusal() == Errc::overloaded ? Entry::overloaded
                                                     : Entry::down;
    }
    if (entry == Entry::overloaded) return {};
    if (entry == Entry::down) return refused(down_error("checkout"));
    if (usable(claim)) return {claim.slot, {claim.generation}};
    // Each unfit worker was replaced, so the loop ends at some time. But it should not end long after the deadline.
    if (std::chrono::steady_clock::now() >= deadline) {
      return refused({Errc::timed_out, "checkout", "no worker was fit for use"});
    }
  }
}

// Returns an error if no worker came in time; then it has left the queue.
std::optional<Error> CheckoutCore::wait_for_answer(BlockingWaiter& waiter, SteadyTime deadline) {
  if (waiter.wait(deadline)) return std::nullopt;
  Outbox out;
  const std::lock_guard lock(mutex_);
  if (waiter.answered()) return std::nullopt;
  unqueue(waiter, out);
  ++counts_.timed_out;
  return Error{Errc::timed_out, "checkout", shortage()};
}

// The slot is not free yet. A claim that the slot no longer has changes nothing.
template <class End>
void CheckoutCore::end_hold(Claim claim, const End& end) {
  Outbox out;
  ThreadMark::mine().enter(this);
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = *claim.slot;
    if (slot.word.load(std::memory_order_relaxed) != Slot::held_word(claim.generation)) {
      ++counts_.stale_checkins;
    } else {
      forget_watcher(slot, out);
      end(slot, out);
    }
  }
  // Nothing of the pool's memory is touched after this. The outbox belongs to this thread.
  ThreadMark::mine().leave();
}

void CheckoutCore::checkin_attended(Claim claim) noexcept {
  ThreadMark::mine().enter(this);  // for the clock; the claimed pool may be about to end
  const Instant time = now();
  end_hold(claim, [&](Slot& slot, Outbox& out) { give(slot, claim.generation, time, out); });
}

// The slot was freed, and then a reason for attention was seen. A thread that has claimed it meanwhile handles that.
void CheckoutCore::checkin_late(Slot& slot) noexcept {
  Outbox out;
  const Instant time = now();
  {
    const std::lock_guard lock(mutex_);
    if (const std::uint64_t generation = slot.try_claim(); generation != 0) {
      ++own_claims_;
      give(slot, generation, time, out);
    }
  }
  ThreadMark::mine().leave();
}

void CheckoutCore::discard(Claim claim, std::string_view reason) {
  end_hold(claim, [&](Slot& slot, Outbox& out) {
    ++counts_.discarded;
    emit(EventKind::discarded, slot.number, std::string(reason));
    retire(slot, out);
  });
}

void CheckoutCore::watch(Claim claim, std::function<void(std::string)> on_death) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = *claim.slot;
    if (!slot.has(Slot::kDied)) {
      slot.on_death.swap(on_death);
      slot.mark(Slot::kWatched);
      return;
    }
    reason = slot.reason;
  }
  try {
    on_death(std::move(reason));
  } catch (...) {
    note_callback_error();
  }
}
}  // namespace tenure

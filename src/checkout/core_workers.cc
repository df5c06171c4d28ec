// Workers, from their start to their end.

#include "base/assert.h"
#include "checkout/asymmetric_fence.h"
#include "checkout/core.h"

namespace tenure {

using detail::SlotPhase;
using detail::WorkerPtr;

// Starts missing workers: up to the target, and one for each waiter without a worker on its way.
void CheckoutCore::reconcile(std::size_t waiting) {
  if (down_ || draining_) return;
  if (suspended_) waiting = 0;
  while (total() < options_.max_workers && (total() < target_ || waiting > starting_)) {
    const Instant time = now();
    if (!starts_.may_start(time, starting_)) {
      if (starts_.retry_at() > time) want_tick(starts_.retry_at());
      return;
    }
    begin_start();
  }
}

void CheckoutCore::begin_start() {
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    Slot& slot = slots_[i];
    if (slot.phase != SlotPhase::vacant) continue;
    slot.phase = SlotPhase::starting;
    slot.number = ++last_number_;
    slot.round = starts_.round();
    slot.died_young = false;
    slot.reason.clear();
    ++starting_;
    set_attention(kOverloaded, false);  // the next caller may wait for it
    executor_->run([this, &slot] { run_start(slot); });
    return;
  }
  ASSERT(false);  // there are at least max_workers slots
}

void CheckoutCore::run_start(Slot& slot) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = slot.number;
  }
  Result<WorkerPtr> made = make_worker(slot, number);
  Outbox out;
  const std::lock_guard lock(mutex_);
  --starting_;
  slot.phase = SlotPhase::vacant;
  if (!made) {
    if (down_) return;
    start_failed(slot, made.error().context.empty() ? made.error().message() : made.error().context, out);
  } else if (!down_ && !slot.died_young) {
    start_succeeded(slot, *std::move(made), out);
  } else {
    out.destroy(*std::move(made));
    if (down_) return;
    start_failed(slot, slot.reason, out);
  }
  reconcile();
  note_health();
}

// The only place that catches exceptions of a user's factory.
Result<WorkerPtr> CheckoutCore::make_worker(Slot& slot, std::uint64_t number) noexcept {
  try {
    return factory_(WorkerAlarm(weak_from_this(), &slot, number));
  } catch (const std::exception& exception) {
    return Failure(Error{Errc::job_failed, "start", exception.what()});
  } catch (...) {
    return Failure(Error{Errc::job_failed, "start", "the factory threw something that is not a std::exception"});
  }
}

void CheckoutCore::start_succeeded(Slot& slot, WorkerPtr worker, Outbox& out) {
  const Instant time = now();
  slot.owner = std::move(worker);
  slot.worker = slot.owner.get();
  slot.phase = SlotPhase::live;
  slot.started = slot.seen_since = time;
  slot.expires = kNever;
  if (options_.max_lifetime > CheckoutOptions::Millis(0)) {
    const double share = 1.0 - options_.lifetime_jitter * static_cast<double>(entropy_->below(1001)) / 1000.0;
    const Nanos life = std::chrono::duration_cast<Nanos>(options_.max_lifetime * share);
    slot.expires = time + life;
    want_tick(slot.expires);
  }
  ++live_;
  ++counts_.starts;
  started_once_ = true;
  starts_.succeeded();
  if (live_ > options_.default_workers) {
    shrink_looks_.push_back(time + options_.shrink_timeout.first);
    want_tick(shrink_looks_.back());
  } else if (live_ > target_) {
    target_ = live_;
  }
  emit(EventKind::started, slot.number, "");
  give(slot, Slot::generation_of(slot.word.load(std::memory_order_relaxed)), time, out);
}

void CheckoutCore::start_failed(Slot& slot, std::string error, Outbox& out) {
  ++counts_.start_failures;
  emit(EventKind::start_failed, slot.number, error);
  note_failure(slot.round, std::move(error), out);
}

void CheckoutCore::note_failure(std::uint64_t round, std::string error, Outbox& out) {
  if (starts_.failed(round, now(), std::move(error))) {
    go_down("starts fail too often: " + starts_.last_error(), out);
  }
}

void CheckoutCore::died(Slot& slot, std::uint64_t number, std::string_view reason) {
  Outbox out;
  const std::lock_guard lock(mutex_);
  if (slot.number != number || slot.has(Slot::kDied)) return;
  if (slot.phase == SlotPhase::starting) {
    slot.died_young = true;
    slot.reason = reason;
  }
  if (slot.phase != SlotPhase::live) return;
  slot.reason = reason;
  slot.mark(Slot::kDied);
  ++counts_.deaths;
  emit(EventKind::died, number, slot.reason);
  if (slot.on_death) {
    out.call([core = shared_from_this(), call = std::exchange(slot.on_death, nullptr), text = slot.reason] {
      try {
        call(text);
      } catch (...) {
        core->note_callback_error();
      }
    });
  }
  if (!down_ && now() - slot.started < StartBook::kYoung) note_failure(slot.round, slot.reason, out);
  heavy_fence();
  if (slot.try_claim() != 0) {
    ++own_claims_;
    retire(slot, out);
  }
  reconcile();
  note_health();
}

void CheckoutCore::wear_out(Slot& slot, std::uint64_t number, std::string_view reason) {
  Outbox out;
  const std::lock_guard lock(mutex_);
  if (slot.number != number || slot.phase != SlotPhase::live || slot.has(Slot::kDied | Slot::kExpired)) return;
  slot.reason = reason;
  slot.mark(Slot::kExpired);
  retire_marked({&slot}, out);
  reconcile();
  note_health();
}

// Ends a worker whose slot the caller owns. It counts until it is destroyed, so there are never more than max_workers.
void CheckoutCore::retire(Slot& slot, Outbox& out) {
  if (slot.has(Slot::kExpired) && !slot.has(Slot::kDied)) {
    ++counts_.expired;
    emit(EventKind::expired, slot.number, slot.reason);
  }
  slot.unmark(Slot::kDied | Slot::kExpired | Slot::kWatched);
  slot.worker = nullptr;
  slot.word.store(Slot::vacant_word(Slot::generation_of(slot.word.load(std::memory_order_relaxed))),
                  std::memory_order_relaxed);
  --live_;
  if (draining_) quiet_.notify_all();
  if (down_) {
    slot.phase = SlotPhase::vacant;
    out.destroy(std::move(slot.owner));
    if (live_ == 0) out.drop(std::move(self_));
    return;
  }
  slot.phase = SlotPhase::stopping;
  ++stopping_;
  executor_->run([this, &slot] { run_stop(slot); });
}

void CheckoutCore::run_stop(Slot& slot) {
  slot.owner.reset();  // the slot belongs to this job
  const std::lock_guard lock(mutex_);
  slot.phase = SlotPhase::vacant;
  --stopping_;
  reconcile();
  note_health();
}

void CheckoutCore::forget_watcher(Slot& slot, Outbox& out) {
  if (slot.on_death) out.drop(std::make_shared<std::function<void(std::string)>>(std::move(slot.on_death)));
  slot.on_death = nullptr;
  slot.unmark(Slot::kWatched);
}

}  // namespace tenure

// Operations on the whole pool: suspend, drain, resize, close.

#include "base/deadline.h"
#include "base/result.h"
#include "checkout/asymmetric_fence.h"
#include "checkout/check_options.h"
#include "checkout/core.h"

namespace tenure {

using detail::SlotPhase;

void CheckoutCore::suspend() {
  const std::lock_guard lock(mutex_);
  suspended_ = true;
  slow_down();
  update_gate();
  note_health();
}

void CheckoutCore::resume() {
  Outbox out;
  const std::lock_guard lock(mutex_);
  if (down_) return;
  suspended_ = false;
  draining_ = false;
  quiet_.notify_all();
  set_attention(kOverloaded, false);
  serve(out);
  reconcile();
  update_gate();
  note_health();
}

Status CheckoutCore::drain(Nanos timeout) {
  const SteadyTime deadline = after(timeout);
  std::unique_lock lock(mutex_);
  if (down_) return {};
  draining_ = true;
  slow_down();
  update_gate();
  note_health();
  const auto quiet = [this] { return down_ || !draining_ || (queue_.empty() && count_free() == live_); };
  if (quiet_.wait_until(lock, deadline, quiet)) {
    if (draining_ || down_) return {};
    return fail(Errc::refused, "drain", "resumed meanwhile");
  }
  return fail(Errc::timed_out, "drain", shortage());
}

Status CheckoutCore::resize(std::uint32_t default_workers, std::uint32_t max_workers) {
  Outbox out;
  const std::lock_guard lock(mutex_);
  CheckoutOptions wanted = options_;
  wanted.default_workers = default_workers;
  wanted.max_workers = max_workers;
  if (Status checked = check_options(wanted); !checked) return checked;
  if (down_) return fail(Errc::pool_down, "resize", down_reason_);
  options_.default_workers = default_workers;
  options_.max_workers = max_workers;
  target_ = default_workers;
  slots_.reserve(max_workers);
  if (max_workers > slots_.used()) slots_.set_used(max_workers);
  slow_down();
  mark_slow(true);  // for new slots
  set_attention(kOverloaded, false);
  while (live_ > max_workers && retire_a_free_one(out)) {
  }
  shrink_looks_.clear();
  for (std::size_t extra = default_workers; extra < std::min<std::size_t>(live_, max_workers); ++extra) {
    shrink_looks_.push_back(now() + options_.shrink_timeout.first);
    want_tick(shrink_looks_.back());
  }
  reconcile();
  note_health();
  return {};
}

void CheckoutCore::close() {
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Loop> loop;
  {
    Outbox out;
    const std::lock_guard lock(mutex_);
    go_down("closed", out);
    executor = std::move(executor_);
    loop = std::move(loop_);
    if (live_ > 0 && executor) self_ = shared_from_this();
  }
  executor.reset();
  loop.reset();
  Outbox out;
  const std::lock_guard lock(mutex_);
  bury(out);
}

void CheckoutCore::go_down(std::string reason, Outbox& out) {
  if (down_) return;
  slow_down();
  down_ = true;
  down_reason_ = std::move(reason);
  set_attention(kOverloaded, false);
  refuse_all(Errc::pool_down, out);
  update_gate();
  retire_free(out);
  quiet_.notify_all();
  note_health();
}

void CheckoutCore::retire_free(Outbox& out) {
  for (;;) {
    const SlotTable::Claimed claimed = slots_.claim_any(0);
    if (claimed.slot == nullptr) return;
    ++own_claims_;
    retire(*claimed.slot, out);
  }
}

// Ends what the executor had not done yet.
void CheckoutCore::bury(Outbox& out) {
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    Slot& slot = slots_[i];
    if (slot.phase != SlotPhase::starting && slot.phase != SlotPhase::stopping) continue;
    if (slot.phase == SlotPhase::stopping) out.destroy(std::move(slot.owner));
    slot.phase = SlotPhase::vacant;
  }
  starting_ = 0;
  stopping_ = 0;
}

}  // namespace tenure

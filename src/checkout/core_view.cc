// The pool's reports about itself.

#include "checkout/core.h"

namespace tenure {

CheckoutState CheckoutCore::state() const {
  const std::lock_guard lock(mutex_);
  CheckoutState state;
  state.health = health();
  state.reason = down_ ? down_reason_ : starts_.failures() > 0 ? starts_.last_error() : std::string();
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    const std::uint64_t word = slots_[i].word.load(std::memory_order_relaxed);
    if (Slot::is_free(word)) ++state.free;
    if (Slot::is_held(word)) ++state.held;
  }
  // Read `settled_` first, so that offers settled meanwhile do not make the difference negative. It still may be,
  // because the processor may reorder the reads.
  const std::uint64_t settled = settled_.sum();
  state.in_transit = static_cast<std::uint32_t>(std::max(offered_.sum(), settled) - settled);
  state.starting = static_cast<std::uint32_t>(starting_);
  state.stopping = static_cast<std::uint32_t>(stopping_);
  state.waiting = queue_.size();
  state.overloaded = (attention.load(std::memory_order_relaxed) & kOverloaded) != 0;
  state.default_workers = options_.default_workers;
  state.max_workers = options_.max_workers;
  state.max_queue = options_.max_queue;
  return state;
}

CheckoutMetrics CheckoutCore::metrics() const {
  const std::lock_guard lock(mutex_);
  CheckoutMetrics metrics = counts_;
  std::uint64_t generations = 0;
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    generations += Slot::generation_of(slots_[i].word.load(std::memory_order_relaxed));
  }
  metrics.checkouts = generations - own_claims_;
  metrics.overloaded += refused_fast_.sum();
  metrics.callback_errors = callback_errors_.load(std::memory_order_relaxed);
  return metrics;
}

std::uint64_t CheckoutCore::number(const Slot& slot) const {
  const std::lock_guard lock(mutex_);
  return slot.number;
}

Error CheckoutCore::down_error(std::string_view operation) const {
  const std::lock_guard lock(mutex_);
  std::string why = "draining";
  if (down_) {
    why = down_reason_;
  } else if (!draining_) {
    why = "no worker, and starts fail: " + starts_.last_error();
  }
  return {Errc::pool_down, std::string(operation), std::move(why)};
}

// For a person whose checkout timed out.
std::string CheckoutCore::shortage() const {
  const std::size_t free = count_free();
  std::string text = std::to_string(live_ - std::min(live_, free)) + " of " + std::to_string(live_) +
                     " workers held, " + std::to_string(starting_) + " starting, " + std::to_string(queue_.size()) +
                     " waiting";
  if (suspended_) text += "; suspended";
  if (starts_.failures() > 0) text += "; starts fail: " + starts_.last_error();
  return text;
}

CheckoutHealth CheckoutCore::health() const {
  if (down_) return CheckoutHealth::down;
  if (draining_) return CheckoutHealth::draining;
  if (suspended_) return CheckoutHealth::suspended;
  if (starts_.failures() > 0) return live_ > 0 ? CheckoutHealth::degraded : CheckoutHealth::failing;
  return started_once_ || target_ == 0 ? CheckoutHealth::ready : CheckoutHealth::starting;
}

void CheckoutCore::note_health() {
  const CheckoutHealth present = health();
  if (present == told_health_) return;
  told_health_ = present;
  emit(EventKind::health, 0, down_ ? down_reason_ : starts_.failures() > 0 ? starts_.last_error() : std::string());
}

void CheckoutCore::emit(EventKind kind, std::uint64_t worker, std::string text) {
  if (!options_.on_event || !loop_) return;
  if (pending_events_.load(std::memory_order_relaxed) >= kMaxPendingEvents) {
    ++counts_.events_lost;
    return;
  }
  pending_events_.fetch_add(1, std::memory_order_relaxed);
  loop_->post([this, event = CheckoutEvent{kind, health(), worker, std::move(text)}] { call_hook(event); });
}

void CheckoutCore::call_hook(const CheckoutEvent& event) {
  pending_events_.fetch_sub(1, std::memory_order_relaxed);
  try {
    options_.on_event(event);  // set once, never changed
  } catch (...) {
    note_callback_error();
  }
}

}  // namespace tenure

// Effects of time on workers: lifetimes, idle workers, extra workers, and suspected leaks.
//
// The fast path reads no clock. Instead, a sweep from time to time compares each slot's word with its previous value.
// An unchanged generation means that the worker was free, or held, all the time in between.

#include <malloc.h>

#include <algorithm>

#include "checkout/asymmetric_fence.h"
#include "checkout/core.h"

namespace tenure {

using detail::SlotPhase;

namespace {

constexpr Nanos kSweepMin = std::chrono::milliseconds(1);
constexpr int kSweepsPerTimeout = 4;

std::string to_text(const std::source_location& where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line()) + " (" + where.function_name() + ")";
}

}  // namespace

void CheckoutCore::want_tick(Instant when) {
  if (!loop_ || when >= armed_) return;
  armed_ = when;
  loop_->post([this] { tick(); });
}

void CheckoutCore::tick() {
  Outbox out;
  Loop* loop = nullptr;
  Instant next = kNever;
  {
    const std::lock_guard lock(mutex_);
    if (!loop_ || down_) return;
    loop = loop_.get();
    next = care(loop->now(), out);
    armed_ = next;
  }
  // The loop outlives the work that runs on it.
  loop->cancel(timer_);
  timer_ = next == kNever ? 0 : loop->at(next, [this] { tick(); });
}

Instant CheckoutCore::care(Instant now, Outbox& out) {
  const Instant next = std::min({expire(now, out), sweep(now, out), shrink(now, out)});
  armed_ = now;  // reconcile() needs no further tick: its times are among those below
  reconcile();
  note_health();
  return starts_.retry_at() > now ? std::min(next, starts_.retry_at()) : next;
}

Instant CheckoutCore::expire(Instant now, Outbox& out) {
  if (options_.max_lifetime == CheckoutOptions::Millis(0)) return kNever;
  Instant next = kNever;
  std::vector<Slot*> expired;
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    Slot& slot = slots_[i];
    if (slot.phase != SlotPhase::live || slot.has(Slot::kDied | Slot::kExpired)) continue;
    if (slot.expires > now) {
      next = std::min(next, slot.expires);
      continue;
    }
    slot.mark(Slot::kExpired);
    expired.push_back(&slot);
  }
  if (!expired.empty()) retire_marked(expired, out);
  return next;
}

// The slots are marked. Free workers leave now, the others at their checkin.
void CheckoutCore::retire_marked(const std::vector<Slot*>& slots, Outbox& out) {
  heavy_fence();
  for (Slot* slot : slots) {
    if (slot->try_claim() == 0) continue;
    ++own_claims_;
    retire(*slot, out);
  }
}

Nanos CheckoutCore::sweep_period() const {
  Nanos shortest = Nanos::max();
  for (const CheckoutOptions::Millis span : {options_.idle_timeout, options_.leak_after}) {
    if (span > CheckoutOptions::Millis(0)) shortest = std::min<Nanos>(shortest, Nanos(span) / kSweepsPerTimeout);
  }
  if (options_.hibernate_when_free) shortest = std::min(shortest, kHibernateEvery);
  return std::max(shortest, kSweepMin);
}

Instant CheckoutCore::sweep(Instant now, Outbox& out) {
  const Nanos period = sweep_period();
  if (period == Nanos::max()) return kNever;
  if (now < next_sweep_) return next_sweep_;
  std::size_t free = count_free();
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    if (slots_[i].phase == SlotPhase::live) look_at(slots_[i], now, free, out);
  }
  hibernate(free);
  if (options_.idle_timeout > CheckoutOptions::Millis(0) && free + starting_ < options_.min_idle) {
    target_ = std::min<std::size_t>(options_.default_workers, total() + options_.min_idle - free - starting_);
  }
  next_sweep_ = now + period;
  return next_sweep_;
}

void CheckoutCore::look_at(Slot& slot, Instant now, std::size_t& free, Outbox& out) {
  const std::uint64_t word = slot.word.load(std::memory_order_relaxed);
  if (word != slot.seen_word) {
    slot.seen_word = word;
    slot.seen_since = now;
    slot.leak_told = false;
    return;
  }
  const Nanos span = now - slot.seen_since;
  if (Slot::is_held(word)) {
    if (options_.leak_after == CheckoutOptions::Millis(0) || span < options_.leak_after || slot.leak_told) return;
    slot.leak_told = true;
    ++counts_.leaks;
    emit(EventKind::leaked, slot.number, to_text(slot.where.load(std::memory_order_relaxed)));
    return;
  }
  if (options_.idle_timeout == CheckoutOptions::Millis(0) || span < options_.idle_timeout) return;
  if (free <= options_.min_idle || slot.try_claim() == 0) return;
  --free;
  ++own_claims_;
  ++counts_.idled_out;
  if (target_ >= live_) target_ = live_ - 1;
  emit(EventKind::idled_out, slot.number, "");
  retire(slot, out);
}

// Only if there was work since the last time.
void CheckoutCore::hibernate(std::size_t free) {
  if (!options_.hibernate_when_free || live_ == 0 || free != live_) return;
  std::uint64_t generations = 0;
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    generations += Slot::generation_of(slots_[i].word.load(std::memory_order_relaxed));
  }
  if (generations == hibernated_at_) return;
  hibernated_at_ = generations;
  ++counts_.hibernations;
  executor_->run([] { malloc_trim(0); });
}

Instant CheckoutCore::shrink(Instant now, Outbox& out) {
  if (live_ <= options_.default_workers) shrink_looks_.clear();
  Instant next = kNever;
  for (std::size_t i = 0; i < shrink_looks_.size();) {
    if (shrink_looks_[i] <= now) {
      const bool spare = live_ > options_.default_workers && count_free() > options_.default_workers / 5;
      if (spare && retire_a_free_one(out)) {
        shrink_looks_.erase(shrink_looks_.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      shrink_looks_[i] = now + options_.shrink_timeout.later;
    }
    next = std::min(next, shrink_looks_[i]);
    ++i;
  }
  return next;
}

// The worker with the highest number goes first, because it came last.
bool CheckoutCore::retire_a_free_one(Outbox& out) {
  Slot* youngest = nullptr;
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    Slot& slot = slots_[i];
    if (slot.phase != SlotPhase::live || !Slot::is_free(slot.word.load(std::memory_order_relaxed))) continue;
    if (youngest == nullptr || slot.number > youngest->number) youngest = &slot;
  }
  if (youngest == nullptr || youngest->try_claim() == 0) return false;
  ++own_claims_;
  ++counts_.shrunk;
  emit(EventKind::shrunk, youngest->number, "");
  retire(*youngest, out);
  return true;
}

std::size_t CheckoutCore::count_free() const {
  std::size_t free = 0;
  for (std::size_t i = 0; i < slots_.used(); ++i) {
    if (Slot::is_free(slots_[i].word.load(std::memory_order_relaxed))) ++free;
  }
  return free;
}

}  // namespace tenure

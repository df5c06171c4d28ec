#include "machine/senders.h"

#include "base/mutant.h"

namespace tenure {

static_assert(kInFlightMax <= 64, "the window is one word wide");

bool Senders::accept(std::uint64_t sender, std::uint64_t sequence, std::int64_t log_time_ms) {
  Sender& entry = senders_[sender];
  bool fresh = false;
  if (sequence > entry.last) {
    const std::uint64_t step = sequence - entry.last;
    entry.seen = step < 64 ? (entry.seen << step) | 1 : 1;
    entry.last = sequence;
    fresh = true;
  } else if (const std::uint64_t back = entry.last - sequence; back < 64) {
    const std::uint64_t bit = std::uint64_t{1} << back;
    fresh = (entry.seen & bit) == 0;
    entry.seen |= bit;
  }
  by_order_.erase(entry.order);
  entry.order = ++orders_;
  entry.used_ms = log_time_ms;
  by_order_.emplace(entry.order, sender);
  forget_old(log_time_ms);
  return fresh || MUTANT(no_dedupe);
}

void Senders::merge(std::uint64_t sender, std::uint64_t last, std::uint64_t seen, std::int64_t log_time_ms) {
  if (last == 0) return;
  Sender& entry = senders_[sender];
  if (last < entry.last) {
    std::swap(last, entry.last);
    std::swap(seen, entry.seen);
  }
  const std::uint64_t step = last - entry.last;
  entry.seen = seen | (step < 64 ? entry.seen << step : 0);
  entry.last = last;
  by_order_.erase(entry.order);
  entry.order = ++orders_;
  entry.used_ms = log_time_ms;
  by_order_.emplace(entry.order, sender);
  forget_old(log_time_ms);
}

void Senders::forget_old(std::int64_t log_time_ms) {
  while (!by_order_.empty()) {
    const auto oldest = senders_.find(by_order_.begin()->second);
    if (oldest->second.used_ms + kSenderKeepMs > log_time_ms && senders_.size() <= kSendersMax) return;
    senders_.erase(oldest);
    by_order_.erase(by_order_.begin());
  }
}

void Senders::restore(std::map<std::uint64_t, Sender> senders, std::uint64_t orders) {
  senders_ = std::move(senders);
  orders_ = orders;
  by_order_.clear();
  for (const auto& [id, entry] : senders_) by_order_.emplace(entry.order, id);
}

}  // namespace tenure

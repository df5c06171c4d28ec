#include "machine/senders.h"

#include "base/mutant.h"

namespace tenure {

static_assert(kInFlightMax <= 64, "the window is one word wide");

bool Senders::accept(std::uint64_t sender, std::uint64_t sequence, std::int64_t log_time_ms) {
  Kept& entry = kept(sender);
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
  use(entry, log_time_ms);
  return fresh || MUTANT(no_dedupe);
}

void Senders::merge(std::uint64_t sender, std::uint64_t last, std::uint64_t seen, std::int64_t log_time_ms) {
  if (last == 0) return;
  Kept& entry = kept(sender);
  if (last < entry.last) {
    std::swap(last, entry.last);
    std::swap(seen, entry.seen);
  }
  const std::uint64_t step = last - entry.last;
  entry.seen = seen | (step < 64 ? entry.seen << step : 0);
  entry.last = last;
  use(entry, log_time_ms);
}

// The last batch was most likely from the same sender.
Senders::Kept& Senders::kept(std::uint64_t sender) {
  if (!by_use_.empty() && by_use_.back()->first == sender) return by_use_.back()->second;
  const auto [found, added] = senders_.try_emplace(sender);
  if (added) found->second.place = by_use_.insert(by_use_.end(), found);
  return found->second;
}

void Senders::use(Kept& kept, std::int64_t log_time_ms) {
  kept.order = ++orders_;
  kept.used_ms = log_time_ms;
  by_use_.splice(by_use_.end(), by_use_, kept.place);
  forget_old(log_time_ms);
}

void Senders::forget_old(std::int64_t log_time_ms) {
  while (!by_use_.empty()) {
    const Table::iterator oldest = by_use_.front();
    if (oldest->second.used_ms + kSenderKeepMs > log_time_ms && senders_.size() <= kSendersMax) return;
    by_use_.pop_front();
    senders_.erase(oldest);
  }
}

void Senders::restore(const std::map<std::uint64_t, Sender>& senders, std::uint64_t orders) {
  senders_.clear();
  by_use_.clear();
  orders_ = orders;
  for (const auto& [id, sender] : senders) {
    const auto at = senders_.emplace(id, Kept{sender, {}}).first;
    at->second.place = by_use_.insert(by_use_.end(), at);
  }
  by_use_.sort([](Table::iterator a, Table::iterator b) { return a->second.order < b->second.order; });
}

}  // namespace tenure

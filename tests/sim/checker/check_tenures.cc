// Promises a to e: who holds a key when, and under which epoch.

#include <algorithm>
#include <set>

#include "sim/checker/verdict.h"

namespace tenure::sim {

void check_overlaps(const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  struct Valid {
    Span span;
    std::size_t hold;
  };
  for (const auto& [key, indexes] : holds.by_key) {
    std::vector<Valid> spans;
    for (const std::size_t index : indexes) {
      const PastHold& hold = holds.all[index];
      for (const Span& lease : holds.lease(hold.session)) {
        const Span span{std::max(lease.from, hold.began), std::min(lease.until, hold.ended)};
        if (span.from < span.until) spans.push_back({span, index});
      }
    }
    std::sort(spans.begin(), spans.end(), [](const Valid& a, const Valid& b) { return a.span.from < b.span.from; });
    for (std::size_t i = 1; i < spans.size(); ++i) {
      // Against the one that reaches furthest so far, so that a long hold is compared with all that follow.
      Valid& last = spans[i - 1];
      if (spans[i].span.from < last.span.until && spans[i].hold != last.hold &&
          !holds.lost_within(spans[i].span.from, expected.lease)) {
        verdict.broken('a', spans[i].span.from,
                       "two holders: " + holds.all[last.hold].name() + " and " + holds.all[spans[i].hold].name());
      }
      if (last.span.until > spans[i].span.until) spans[i] = last;
    }
  }
}

namespace {

// Who still held the key, with a lease, at the moment it was granted to another.
void check_grant(const PastHolds& holds, const LogGranted& granted, Time at, const Expectations& expected,
                 Verdict& verdict) {
  if (holds.lost_within(at, expected.lease)) return;
  const auto found = holds.by_key.find(granted.key);
  if (found == holds.by_key.end()) return;
  for (const std::size_t index : found->second) {
    const PastHold& hold = holds.all[index];
    if (hold.epoch == granted.epoch || hold.began >= at || hold.ended <= at) continue;
    if (!holds.lease_valid(hold.session, at)) continue;
    verdict.broken('e', at, "granted under epoch " + std::to_string(granted.epoch) + " while held: " + hold.name());
  }
}

}  // namespace

void check_epochs(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  std::map<std::string, std::uint64_t> granted_last;
  std::map<std::string, std::uint64_t> begun_last;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> granted_to;  // the ticket
  for (const Event& event : history) {
    if (const auto* granted = std::get_if<LogGranted>(&event.what)) {
      std::uint64_t& last = granted_last[granted->key];
      if (granted->epoch <= last) {
        verdict.broken('b', event.at,
                       granted->key + " granted under epoch " + std::to_string(granted->epoch) + " after epoch " +
                           std::to_string(last));
      }
      if (granted->epoch % expected.shard.count != expected.shard.index) {
        verdict.broken('b', event.at,
                       granted->key + " granted under epoch " + std::to_string(granted->epoch) +
                           ", which another shard of the pool may give as well");
      }
      last = std::max(last, granted->epoch);
      granted_to[{granted->key, granted->epoch}] = granted->ticket;
      check_grant(holds, *granted, event.at, expected, verdict);
    } else if (const auto* ghost = std::get_if<GhostGranted>(&event.what)) {
      granted_to[{ghost->key, ghost->epoch}] = ghost->ticket;
    } else if (const auto* began = std::get_if<HoldBegan>(&event.what)) {
      std::uint64_t& last = begun_last[began->key];
      // Where two may hold it, either may begin first.
      if (began->epoch <= last && !holds.replaced_within(event.at, expected.lease)) {
        verdict.broken('b', event.at,
                       began->key + " epoch " + std::to_string(began->epoch) + " begins in process " +
                           std::to_string(began->process) + " after epoch " + std::to_string(last) + " has begun");
      }
      last = std::max(last, began->epoch);
      const auto to = granted_to.find({began->key, began->epoch});
      if (to == granted_to.end() || to->second != began->ticket) {
        verdict.broken('b', event.at,
                       began->key + " epoch " + std::to_string(began->epoch) + " begins in process " +
                           std::to_string(began->process) + " without ever having been granted so");
      }
    }
  }
}

void check_writes(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  std::map<std::string, std::uint64_t> newest;
  std::map<std::pair<std::string, std::uint64_t>, const PastHold*> by_epoch;
  for (const PastHold& hold : holds.all) by_epoch[{hold.key, hold.epoch}] = &hold;
  for (const Event& event : history) {
    const auto* wrote = std::get_if<Wrote>(&event.what);
    if (wrote == nullptr) continue;
    std::uint64_t& largest = newest[wrote->key];
    const std::string name =
        wrote->key + " epoch " + std::to_string(wrote->epoch) + " (process " + std::to_string(wrote->process) + ")";
    if (wrote->accepted && wrote->epoch < largest) {
      verdict.broken('c', event.at, "a stale write was accepted: " + name + " after epoch " + std::to_string(largest));
    }
    if (wrote->accepted) largest = std::max(largest, wrote->epoch);
    const auto hold = by_epoch.find({wrote->key, wrote->epoch});
    if (wrote->accepted || hold == by_epoch.end() || event.at >= hold->second->ended) continue;
    // Where the log was replaced, members of the old one go on for a lease, and may get a higher epoch there after this
    // tenure has begun in the new one. Its writes are then refused for as long as it lasts.
    const bool overtaken = holds.replaced_within(hold->second->began, expected.lease);
    if (!overtaken && holds.lease_valid(hold->second->session, event.at) &&
        !holds.lost_within(event.at, expected.lease)) {
      verdict.broken('c', event.at, "the rightful holder's write was refused: " + name);
    }
  }
}

namespace {

// By when a process must have acted on what happened at `at`: at once, or once it runs again.
Time due(const PastHolds& holds, ProcessNumber process, Time at, const Expectations& expected) {
  Time latest = at + expected.watchdog_slack;
  const auto found = holds.pauses.find(process);
  if (found == holds.pauses.end()) return latest;
  for (const Span& pause : found->second) {
    if (pause.from > latest || pause.until <= at) continue;
    if (pause.until == kForever) return kForever;
    latest = std::max(latest, pause.until + expected.resume_slack);
  }
  return latest;
}

bool paused_at(const PastHolds& holds, ProcessNumber process, Time at) {
  const auto found = holds.pauses.find(process);
  return found != holds.pauses.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](const Span& pause) { return pause.contains(at); });
}

}  // namespace

void check_deadlines(const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  for (const PastHold& hold : holds.all) {
    const auto& spans = holds.lease(hold.session);
    auto span = std::find_if(spans.begin(), spans.end(), [&](const Span& s) { return s.contains(hold.began); });
    if (span == spans.end() && expected.begins_late) {
      span = std::find_if(spans.begin(), spans.end(), [&](const Span& s) {
        return s.until <= hold.began && paused_at(holds, hold.process, s.until) &&
               hold.began <= due(holds, hold.process, s.until, expected);
      });
    }
    if (span == spans.end()) {
      verdict.broken('d', hold.began, "begun without a lease: " + hold.name());
      continue;
    }
    // The first moment after the beginning at which the lease was no longer valid.
    const Time latest = due(holds, hold.process, span->until, expected);
    if (hold.ended > latest && holds.last > latest) {
      verdict.broken('d', latest, "still held after its lease ended at " + seconds(span->until) + ": " + hold.name());
    }
  }
}

}  // namespace tenure::sim

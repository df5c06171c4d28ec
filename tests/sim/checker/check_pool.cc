// Promises j to l, o, p and r: the nodes agree, the pool recovers, nothing grows without bound, and nothing happens
// without a reason.

#include <algorithm>
#include <map>
#include <set>

#include "base/bytes.h"
#include "sim/checker/log_replay.h"

namespace tenure::sim {

void check_agreement(const History& history, Verdict& verdict) {
  std::map<std::uint64_t, Digest> first;
  for (const Event& event : history) {
    const auto* digest = std::get_if<Digest>(&event.what);
    if (digest == nullptr) continue;
    const auto [at, added] = first.try_emplace(digest->entry, *digest);
    if (added || at->second.digest == digest->digest) continue;
    const auto who = [](ProcessNumber process) {
      return process == kOnlooker ? std::string("the onlooker") : "process " + std::to_string(process);
    };
    verdict.broken('j', event.at,
                   who(digest->process) + " and " + who(at->second.process) + " differ after entry " +
                       std::to_string(digest->entry));
  }
}

void check_whole(const History& history, Verdict& verdict) {
  for (const Event& event : history) {
    const auto* broke = std::get_if<NodeBroke>(&event.what);
    if (broke == nullptr) continue;
    verdict.broken('p', event.at, "process " + std::to_string(broke->process) + " gave up: " + broke->why);
  }
}

void check_calm(const History& history, Verdict& verdict) {
  for (const Event& event : history) {
    if (const auto* fenced = std::get_if<LogFenced>(&event.what)) {
      verdict.broken('o', event.at, "a session ended for no reason: " + to_hex(fenced->session));
    }
    if (const auto* crashed = std::get_if<ProcessCrashed>(&event.what)) {
      verdict.broken('o', event.at, "process " + std::to_string(crashed->process) + " died for no reason");
    }
  }
}

// What a node has to say must not lie there until it has something else to say.
void check_told(const History& history, const Expectations& expected, Verdict& verdict) {
  std::map<std::uint64_t, const Event*> untold;  // by epoch
  std::set<std::uint64_t> told;
  const auto late = [&](const Event& end, Time at) {
    if (at - end.at <= expected.telling) return;
    const auto& hold = std::get<HoldEnded>(end.what);
    verdict.broken('r', at,
                   "the end of " + hold.key + " (epoch " + std::to_string(hold.epoch) + ") at " + seconds(end.at) +
                       " was not in the log after " + seconds(expected.telling));
  };
  for (const Event& event : history) {
    if (const auto* ended = std::get_if<HoldEnded>(&event.what)) {
      if (!told.contains(ended->epoch)) untold.emplace(ended->epoch, &event);
    } else if (const auto* known = std::get_if<LogEnded>(&event.what)) {
      told.insert(known->epoch);
      const auto found = untold.find(known->epoch);
      if (found == untold.end()) continue;
      late(*found->second, event.at);
      untold.erase(found);
    } else if (std::holds_alternative<Closed>(event.what)) {
      for (const auto& [epoch, end] : untold) late(*end, event.at);
    }
  }
}

namespace {

// How many run the key with a lease at this moment.
std::size_t holders(const PastHolds& holds, const std::string& key, Time at) {
  const auto found = holds.by_key.find(key);
  if (found == holds.by_key.end()) return 0;
  return static_cast<std::size_t>(std::count_if(found->second.begin(), found->second.end(), [&](std::size_t index) {
    const PastHold& hold = holds.all[index];
    return hold.began <= at && at < hold.ended && holds.lease_valid(hold.session, at);
  }));
}

bool held_within(const PastHolds& holds, const std::string& key, Time from, Time until) {
  const auto found = holds.by_key.find(key);
  if (found == holds.by_key.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](std::size_t index) {
    const PastHold& hold = holds.all[index];
    const Time began = std::max(hold.began, from);
    return began <= until && began < hold.ended && holds.lease_valid(hold.session, began);
  });
}

void check_held(const History& history, const PastHolds& holds, Time healed, Time closed, const Expectations& expected,
                Verdict& verdict) {
  const AskedBy asked = asked_by_ticket(history);
  Verdict ignored;  // the replay's own findings are check_jobs' to report
  const auto lines = log_lines(history);
  LogReplay replay(asked, expected, ignored, lines.back().remembered);
  for (const Event* event : lines.back().events) replay.apply(*event);
  const Time due = healed + expected.recovery;
  for (const auto& [ticket, job] : replay.jobs) {
    if (!job.live || job.asked == nullptr || job.asked->ask != Ask::resident) continue;
    const std::string name = job.asked->key + " (ticket " + std::to_string(ticket) + ")";
    if (job.accepted_at <= healed && due <= closed && !held_within(holds, job.asked->key, healed, due)) {
      verdict.broken('k', due, "not held " + seconds(expected.recovery) + " after all faults were over: " + name);
    }
    const std::size_t count = holders(holds, job.asked->key, closed);
    // It may just be moving: an unfit worker is given a key to try now and then.
    if (count == 0 && held_within(holds, job.asked->key, closed - 100 * kMilli, closed)) continue;
    if (count != 1 && job.accepted_at + expected.recovery <= closed) {
      verdict.broken('k', closed, "held by " + std::to_string(count) + " in the end: " + name);
    }
  }
}

}  // namespace

void check_recovery(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  Time healed = kForever;
  for (const Event& event : history) {
    if (std::holds_alternative<Healed>(event.what)) healed = event.at;
    const auto* closed = std::get_if<Closed>(&event.what);
    if (closed == nullptr) continue;
    if (healed != kForever) check_held(history, holds, healed, event.at, expected, verdict);
    if (closed->bytes_since_snapshot > expected.bytes_since_snapshot_max) {
      verdict.broken('l', event.at,
                     std::to_string(closed->bytes_since_snapshot) + " bytes in the log since its snapshot of " +
                         std::to_string(closed->snapshot_bytes));
    }
    if (closed->log_entries > expected.log_entries_max) {
      verdict.broken('l', event.at, std::to_string(closed->log_entries) + " entries left in the log");
    }
  }
}

}  // namespace tenure::sim

// Promises w, z and D: keys are where they belong, pools that are shut down end, and delays last as long as they
// should.

#include <algorithm>
#include <map>
#include <set>

#include "sim/checker/log_replay.h"
#include "sim/checker/placing.h"

namespace tenure::sim {

void check_placing(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  Placing placing(expected.choice);
  Time closed = kForever;
  std::map<std::pair<std::string, std::uint64_t>, std::string> workers;  // by key and epoch
  for (const Event& event : history) {
    placing.apply(event);
    if (std::holds_alternative<Closed>(event.what)) closed = event.at;
    const auto* began = std::get_if<HoldBegan>(&event.what);
    if (began != nullptr) workers[{began->key, began->epoch}] = began->worker;
  }
  if (closed == kForever || placing.changed() + expected.placing > closed) return;
  const AskedBy asked = asked_by_ticket(history);
  Verdict ignored;
  const auto lines = log_lines(history);
  LogReplay replay(asked, expected, ignored, lines.back().remembered);
  for (const Event* event : lines.back().events) replay.apply(*event);
  for (const auto& [ticket, job] : replay.jobs) {
    if (!job.live || job.asked == nullptr || job.asked->ask != Ask::resident) continue;
    if (job.accepted_at + expected.placing > closed) continue;
    const auto found = holds.by_key.find(job.asked->key);
    if (found == holds.by_key.end()) continue;
    for (const std::size_t index : found->second) {
      const PastHold& hold = holds.all[index];
      if (hold.began > closed || hold.ended <= closed) continue;
      const std::string& worker = workers[{hold.key, hold.epoch}];
      if (placing.fits(hold.key, worker)) continue;
      verdict.broken('w', closed, hold.name() + " is held by " + worker + ", where it does not belong");
    }
  }
}

namespace {

struct Ending {
  Time since = -1;  // of a shutdown that is going on
  std::uint64_t position = 0;
  bool drained = false;
};

}  // namespace

void check_end(const History& history, const Expectations& expected, Verdict& verdict) {
  const AskedBy asked = asked_by_ticket(history);
  Ending ending;
  Time healed = kForever;
  std::set<ProcessNumber> members;
  std::map<ProcessNumber, Time> leased_until;
  for (const Event& event : history) {
    if (const auto* leased = std::get_if<Leased>(&event.what)) leased_until[leased->process] = leased->until;
    if (std::holds_alternative<Healed>(event.what)) healed = event.at;
    if (const auto* ready = std::get_if<WorkerReady>(&event.what)) members.insert(ready->process);
    if (const auto* crashed = std::get_if<ProcessCrashed>(&event.what)) members.erase(crashed->process);
    if (const auto* began = std::get_if<LogShutdown>(&event.what)) ending = {event.at, began->position, false};
    if (std::holds_alternative<LogDrained>(event.what)) ending.drained = true;
    if (const auto* lost = std::get_if<LogLost>(&event.what)) {
      if (lost->replaced || lost->kept < ending.position) ending = {};
    }
    if (const auto* removed = std::get_if<LogRemoved>(&event.what)) {
      if (!removed->ended) verdict.broken('z', event.at, "the log of a pool was removed that had not ended");
      ending = {};
    }
    if (ending.since < 0) {
      if (const auto* left = std::get_if<ProcessLeft>(&event.what)) members.erase(left->process);
      continue;
    }
    if (const auto* granted = std::get_if<LogGranted>(&event.what)) {
      const auto found = asked.find(granted->ticket);
      if (found != asked.end() && found->second.ask == Ask::resident) {
        verdict.broken('z', event.at, "a resident is started in a pool that is shutting down: " + granted->key);
      }
    }
    if (const auto* left = std::get_if<ProcessLeft>(&event.what)) {
      const bool last = members.erase(left->process) != 0 && members.empty();
      const auto lease = leased_until.find(left->process);
      const bool fenced = lease != leased_until.end() && lease->second < event.at;  // it was no member any more
      if (last && !fenced && ending.drained && event.at > healed) {
        verdict.broken('z', event.at,
                       "the last member left, and the log of the pool that was shut down is still there");
      }
    }
    if (std::holds_alternative<Closed>(event.what) && healed != kForever &&
        std::max(healed, ending.since) + expected.ending < event.at) {
      verdict.broken('z', event.at, "shut down at " + seconds(ending.since) + ", and the pool is not gone");
    }
  }
}

void check_delays(const History& history, const Expectations& expected, Verdict& verdict) {
  constexpr Time kSlack = 3 * kSecond;  // a retry of the task before it, and the ways
  const AskedBy asked = asked_by_ticket(history);
  std::map<std::uint64_t, Time> accepted;
  std::map<std::string, Time> busy_until;
  for (const Event& event : history) {
    if (const auto* settled = std::get_if<LogSettled>(&event.what)) {
      if (settled->step == Step::accepted) accepted.emplace(settled->ticket, event.at);
    } else if (const auto* ended = std::get_if<LogEnded>(&event.what)) {
      busy_until[ended->key] = event.at;
    } else if (const auto* granted = std::get_if<LogGranted>(&event.what)) {
      const auto found = asked.find(granted->ticket);
      if (!granted->first || found == asked.end() || !found->second.delayed) continue;
      const Time due = std::max(accepted[granted->ticket] + found->second.delay, busy_until[granted->key]);
      if (event.at <= due + kSlack + expected.telling) continue;
      verdict.broken('D', event.at,
                     "a task of " + granted->key + " was delayed until " + seconds(due) + ", and waited on");
    }
  }
}

}  // namespace tenure::sim

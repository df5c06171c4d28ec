// Promise s: a log that lost everything is put back, once, if a member lived through it, and not if the pool was
// removed. That what comes back is what was known is for the replay to say (log_replay.h).

#include <set>

#include "sim/checker/verdict.h"

namespace tenure::sim {
namespace {

// What is known of the present log and its beginning.
struct Line {
  Time began = 0;
  bool wiped = false;                   // what was before it is gone with the server's data
  bool removed = false;                 // what was before it was removed on purpose
  bool anew = false;                    // the first who joined remembered nothing: a new pool
  std::uint64_t joined = 0;             // where the first one did
  std::uint64_t restored = 0;           // where it was put back
  std::set<ProcessNumber> survivors{};  // that noticed the loss within their leases, and live
  std::set<std::uint64_t> sessions{};   // that have joined it

  // Of a log that lost its tail, the beginning may be left.
  void lose(const LogLost& lost, Time at) {
    const bool whole = lost.wiped || lost.removed || lost.replaced;
    if (whole || joined > lost.kept) *this = {.removed = !whole && removed};
    if (restored > lost.kept) restored = 0;
    began = at;
    wiped = lost.wiped;
    removed = removed || lost.removed;
    survivors.clear();
    if (whole) sessions.clear();
  }
};

void judge_end(const Line& line, Time closed, const Expectations& expected, Verdict& verdict) {
  if (!line.wiped || line.anew || line.restored != 0 || line.survivors.empty()) return;
  if (closed - line.began <= expected.recovery) return;
  verdict.broken('s', closed,
                 "the log was wiped at " + seconds(line.began) + ", and process " +
                     std::to_string(*line.survivors.begin()) + ", which remembers it, has not put it back");
}

}  // namespace

void check_restored(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict) {
  Line line;
  for (const Event& event : history) {
    if (const auto* lost = std::get_if<LogLost>(&event.what)) {
      line.lose(*lost, event.at);
    } else if (const auto* noticed = std::get_if<NoticedLoss>(&event.what)) {
      const bool of_old = !line.sessions.contains(noticed->session);
      if (of_old && holds.lease_valid(noticed->session, event.at)) line.survivors.insert(noticed->process);
    } else if (const auto* crashed = std::get_if<ProcessCrashed>(&event.what)) {
      line.survivors.erase(crashed->process);
    } else if (const auto* left = std::get_if<ProcessLeft>(&event.what)) {
      line.survivors.erase(left->process);
    } else if (const auto* joined = std::get_if<LogJoined>(&event.what)) {
      if (line.joined == 0) line.anew = !joined->remembers;
      if (line.joined == 0) line.joined = joined->position;
      line.sessions.insert(joined->session);
    } else if (std::holds_alternative<LogRestoring>(event.what)) {
      if (line.removed) verdict.broken('s', event.at, "a pool that was removed is put back");
      if (line.restored != 0) verdict.broken('s', event.at, "a log that was restored is restored again");
      if (line.anew) verdict.broken('s', event.at, "what is remembered is put into a log that a new pool has begun");
    } else if (const auto* ended = std::get_if<LogRestoreEnded>(&event.what)) {
      line.restored = ended->position;
    } else if (std::holds_alternative<Closed>(event.what)) {
      judge_end(line, event.at, expected, verdict);
    }
  }
}

}  // namespace tenure::sim

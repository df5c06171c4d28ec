// Promises f to i: what becomes of what users ask for.

#include <set>

#include "sim/log_fold.h"

namespace tenure::sim {

namespace {

// Everything accepted has an end, or, for a resident job, a holder (see check_recovery).
void check_all_settled(const LogFold& fold, Verdict& verdict) {
  for (const auto& [ticket, job] : fold.jobs) {
    if (!job.live || job.asked == nullptr || job.asked->ask != Ask::task) continue;
    verdict.broken('f', job.accepted_at,
                   "accepted and never settled: task of " + job.asked->key + ", ticket " + std::to_string(ticket));
  }
  for (const auto& [ticket, at] : fold.stops) {
    verdict.broken('f', at, "a stop was accepted and never done: ticket " + std::to_string(ticket));
  }
}

const char* to_text(Step step) {
  switch (step) {
    case Step::accepted: return "accepted";
    case Step::refused: return "refused";
    case Step::started: return "started";
    case Step::done: return "done";
    case Step::failed: return "failed";
    case Step::stopped: return "stopped";
  }
  return "?";
}

// These a node says by itself, without asking the log.
bool local(const Answered& answered) {
  return answered.step == Step::refused && answered.code != Errc::key_exists && answered.code != Errc::no_such_key &&
         answered.code != Errc::pool_full;
}

// What a client was told was true: the log said so, if only in a tail that it lost afterwards.
void check_told(const History& history, Verdict& verdict) {
  std::set<std::pair<std::uint64_t, Step>> said;
  std::set<std::pair<std::uint64_t, Step>> told;
  for (const Event& event : history) {
    if (const auto* settled = std::get_if<LogSettled>(&event.what)) said.insert({settled->ticket, settled->step});
    const auto* answered = std::get_if<Answered>(&event.what);
    if (answered == nullptr || local(*answered)) continue;
    const std::string name = std::string(to_text(answered->step)) + ", ticket " + std::to_string(answered->ticket);
    if (!said.contains({answered->ticket, answered->step})) {
      verdict.broken('f', event.at, "a client was told what the log had not said: " + name);
    }
    if (answered->step == Step::done && !told.insert({answered->ticket, answered->step}).second) {
      verdict.broken('f', event.at, "a client was told twice: " + name);
    }
  }
}

}  // namespace

void check_jobs(const History& history, const Expectations& expected, Verdict& verdict) {
  const AskedBy asked = asked_by_ticket(history);
  for (const LogLine& line : log_lines(history)) {
    LogFold fold(asked, expected, verdict);
    for (const Event* event : line.events) fold.apply(*event);
    if (line.final && expected.all_settled) check_all_settled(fold, verdict);
  }
  check_told(history, verdict);
}

}  // namespace tenure::sim

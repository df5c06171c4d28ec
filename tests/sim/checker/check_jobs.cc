// Promises f to i: the outcomes of users' requests.

#include <map>
#include <set>

#include "sim/checker/log_replay.h"

namespace tenure::sim {

namespace {

// Everything accepted has an end, or, for a resident job, a holder (see check_recovery), unless the pool was ended.
void check_all_settled(const LogReplay& replay, bool ended, Verdict& verdict) {
  for (const auto& [ticket, job] : replay.jobs) {
    if (!job.live || job.asked == nullptr || (job.asked->ask != Ask::task && !ended)) continue;
    verdict.broken('f', job.accepted_at,
                   "accepted and never settled: job of " + job.asked->key + ", ticket " + std::to_string(ticket));
  }
  for (const auto& [ticket, at] : replay.stops) {
    verdict.broken('f', at, "a stop was accepted and never done: ticket " + std::to_string(ticket));
  }
  for (const auto& [ticket, job] : replay.jobs) {
    if (job.live || job.buried) continue;
    for (const ReplayedMessage& message : job.messages) {
      if (!replay.messages.contains(message.ticket)) continue;
      verdict.broken('M', message.accepted_at,
                     "the job is over, and nobody heard of its message: ticket " + std::to_string(message.ticket));
    }
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

// What a client was told was true: the log said so, if only in a tail that it lost afterwards. That a job has started
// may also be known from its holder.
void check_told(const History& history, Verdict& verdict) {
  std::set<std::pair<std::uint64_t, Step>> said;
  std::set<std::pair<std::uint64_t, Step>> told;
  std::map<std::uint64_t, Time> began_at;  // by ticket
  Time lost_at = -1;
  for (const Event& event : history) {
    if (std::holds_alternative<LogLost>(event.what)) lost_at = event.at;
    if (const auto* settled = std::get_if<LogSettled>(&event.what)) said.insert({settled->ticket, settled->step});
    if (const auto* ghost = std::get_if<GhostSettled>(&event.what)) said.insert({ghost->ticket, ghost->step});
    if (const auto* began = std::get_if<HoldBegan>(&event.what)) {
      said.insert({began->ticket, Step::started});
      began_at.emplace(began->ticket, event.at);
    }
    const auto* answered = std::get_if<Answered>(&event.what);
    if (answered == nullptr || local(*answered)) continue;
    const std::string name = std::string(to_text(answered->step)) + ", ticket " + std::to_string(answered->ticket);
    // A holder whose grant the log has lost may still do the work and say so, before it hears of the loss; a client
    // that keeps no state takes its word.
    const auto began = began_at.find(answered->ticket);
    const bool of_lost_grant = answered->step == Step::done && began != began_at.end() && began->second <= lost_at;
    if (!said.contains({answered->ticket, answered->step}) && !of_lost_grant) {
      verdict.broken('f', event.at, "a client was told what the log had not said: " + name);
    }
    if (answered->step == Step::done && !told.insert({answered->ticket, answered->step}).second) {
      verdict.broken('f', event.at, "a client was told twice: " + name);
    }
  }
}

// Of a message that every handler refused nobody may hear that it was handled.
void check_refusals(const History& history, Verdict& verdict) {
  std::map<std::uint64_t, bool> taken;  // by the message's ticket
  for (const Event& event : history) {
    if (const auto* delivered = std::get_if<Delivered>(&event.what)) {
      bool& by_any = taken.try_emplace(delivered->ticket, false).first->second;
      by_any = by_any || !delivered->refused;
    }
    const auto* settled = std::get_if<LogSettled>(&event.what);
    if (settled == nullptr || settled->step != Step::done) continue;
    const auto found = taken.find(settled->ticket);
    if (found == taken.end() || found->second) continue;
    verdict.broken('M', event.at,
                   "said to be handled, but its handler refused it: message " + std::to_string(settled->ticket));
  }
}

bool final_step(Step step) { return step == Step::done || step == Step::failed || step == Step::stopped; }

}  // namespace

void check_answers(const History& history, Verdict& verdict) {
  struct Heard {
    bool anything = false;
    bool end = false;
  };
  std::map<std::uint64_t, Heard> heard;
  std::set<ProcessNumber> gone;
  for (const Event& event : history) {
    if (const auto* answered = std::get_if<Answered>(&event.what)) {
      Heard& so_far = heard[answered->ticket];
      so_far.anything = true;
      so_far.end = so_far.end || answered->step == Step::refused || final_step(answered->step);
    } else if (const auto* lost = std::get_if<TicketLost>(&event.what)) {
      heard[lost->ticket] = {true, true};
    } else if (const auto* crashed = std::get_if<ProcessCrashed>(&event.what)) {
      gone.insert(crashed->process);
    } else if (const auto* left = std::get_if<ProcessLeft>(&event.what)) {
      gone.insert(left->process);
    }
  }
  std::set<std::uint64_t> ended;
  const auto lines = log_lines(history);
  for (const Event* event : lines.back().events) {
    const auto* settled = std::get_if<LogSettled>(&event->what);
    if (settled == nullptr) continue;
    // One that was dead, and was tried again, has not ended.
    if (final_step(settled->step)) ended.insert(settled->ticket);
    if (settled->step == Step::started) ended.erase(settled->ticket);
  }
  for (const Event& event : history) {
    const auto* asked = std::get_if<Asked>(&event.what);
    if (asked == nullptr || gone.contains(asked->process) || asked->event != 0) continue;
    const Heard& so_far = heard[asked->ticket];
    if (so_far.anything && (so_far.end || !ended.contains(asked->ticket))) continue;
    verdict.broken('q', event.at,
                   "process " + std::to_string(asked->process) + " never heard " +
                       (so_far.anything ? "the end of" : "of") + " its request for " + asked->key + ", ticket " +
                       std::to_string(asked->ticket));
  }
}

void check_jobs(const History& history, const Expectations& expected, Verdict& verdict) {
  const AskedBy asked = asked_by_ticket(history);
  for (const LogLine& line : log_lines(history)) {
    LogReplay replay(asked, expected, verdict, line.remembered);
    for (const Event* event : line.events) replay.apply(*event);
    if (line.ended || (line.final && expected.all_settled)) check_all_settled(replay, line.ended, verdict);
  }
  check_told(history, verdict);
  check_refusals(history, verdict);
}

}  // namespace tenure::sim

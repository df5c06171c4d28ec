#include "sim/checker/checker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/checker/verdict.h"

namespace tenure::sim {

std::vector<LogLine> log_lines(const History& history) {
  const auto position_of = [](const Event& event) -> std::uint64_t {
    return std::visit(
        [](const auto& what) -> std::uint64_t {
          if constexpr (requires { what.position; }) {
            return what.position;
          } else {
            return 0;
          }
        },
        event.what);
  };
  std::vector<LogLine> lines;
  LogLine current;
  std::vector<std::vector<const Event*>> lost;  // the whole log, just before each loss
  const auto remembered = std::make_shared<RememberedLines>();
  current.remembered = remembered;
  for (const Event& event : history) {
    if (const auto* loss = std::get_if<LogLost>(&event.what)) {
      lost.push_back(current.events);
      const bool any = !current.events.empty() && position_of(*current.events.back()) > loss->kept;
      if (any) lines.push_back(current);
      while (!current.events.empty() && position_of(*current.events.back()) > loss->kept) current.events.pop_back();
      current.ended = false;
    } else if (std::holds_alternative<LogRemoved>(event.what)) {
      current.ended = true;  // its loss is the next event
    } else if (position_of(event) != 0) {
      current.events.push_back(&event);
    }
    if (const auto* restoring = std::get_if<LogRestoring>(&event.what)) {
      auto& known = (*remembered)[&event];
      known = restoring->losses < lost.size() ? lost[restoring->losses] : current.events;
      if (restoring->ghost) continue;
      std::erase_if(known, [&](const Event* old) { return position_of(*old) > restoring->known; });
    }
  }
  current.final = true;
  lines.push_back(std::move(current));
  return lines;
}

std::vector<Violation> check(const History& history, const Expectations& expected) {
  Verdict verdict;
  const PastHolds holds(history);
  check_overlaps(holds, expected, verdict);
  check_epochs(history, holds, expected, verdict);
  check_writes(history, holds, expected, verdict);
  check_deadlines(holds, expected, verdict);
  check_jobs(history, expected, verdict);
  check_blame(history, expected, verdict);
  if (expected.calm) {
    check_calm(history, verdict);
    check_told(history, expected, verdict);
  }
  check_whole(history, verdict);
  check_unfit(history, verdict);
  if (expected.all_answered) check_answers(history, verdict);
  check_agreement(history, verdict);
  check_recovery(history, holds, expected, verdict);
  check_placing(history, holds, expected, verdict);
  check_end(history, expected, verdict);
  if (expected.calm) check_delays(history, expected, verdict);
  check_messages(history, holds, expected, verdict);
  check_handovers(history, holds, verdict);
  check_takes(history, verdict);
  check_helped(history, verdict);
  check_sources(history, expected, verdict);
  check_partitions(history, holds, expected, verdict);
  check_restored(history, holds, expected, verdict);
  auto found = verdict.take();
  std::sort(found.begin(), found.end(), [](const Violation& a, const Violation& b) {
    return std::tie(a.at, a.promise, a.text) < std::tie(b.at, b.promise, b.text);
  });
  return found;
}

std::string to_string(const Violation& violation) {
  return std::string(1, violation.promise) + " at " + seconds(violation.at) + ": " + violation.text;
}

}  // namespace tenure::sim

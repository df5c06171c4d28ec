#pragma once

// The parts of the checker. Each judges some of the promises and adds the violations that it finds.

#include <map>
#include <memory>

#include "sim/checker/checker.h"
#include "sim/checker/holds.h"

namespace tenure::sim {

using RememberedLines = std::map<const Event*, std::vector<const Event*>>;

class Verdict {
 public:
  void broken(char promise, Time at, std::string text) {
    // One broken rule can show a thousand times; the first few tell the story.
    if (found_.size() < kViolationsMax) found_.push_back({promise, at, std::move(text)});
  }
  std::vector<Violation> take() { return std::move(found_); }

 private:
  static constexpr std::size_t kViolationsMax = 50;
  std::vector<Violation> found_;
};

// The log of a history as it ended, or as it was just before a loss: what the onlooker wrote down, without what had
// been lost until then.
struct LogLine {
  std::vector<const Event*> events;
  bool final = false;  // it was not lost later on
  bool ended = false;  // the pool was shut down, and the log removed
  // For each LogRestoring: the log that is put back, up to what was known of it. The same for all lines.
  std::shared_ptr<const RememberedLines> remembered;
};
std::vector<LogLine> log_lines(const History& history);

void check_overlaps(const PastHolds& holds, const Expectations& expected, Verdict& verdict);  // a
void check_epochs(const History& history, const PastHolds& holds, const Expectations& expected,
                  Verdict& verdict);  // b, e
void check_writes(const History& history, const PastHolds& holds, const Expectations& expected, Verdict& verdict);  // c
void check_deadlines(const PastHolds& holds, const Expectations& expected, Verdict& verdict);                       // d
void check_jobs(const History& history, const Expectations& expected, Verdict& verdict);  // f, g, h, i, s
void check_restored(const History& history, const PastHolds& holds, const Expectations& expected,
                    Verdict& verdict);                                                     // s
void check_blame(const History& history, const Expectations& expected, Verdict& verdict);  // x, y
void check_calm(const History& history, Verdict& verdict);                                 // o
void check_told(const History& history, const Expectations& expected, Verdict& verdict);   // r
void check_whole(const History& history, Verdict& verdict);                                // p
void check_unfit(const History& history, Verdict& verdict);                                // v
void check_answers(const History& history, Verdict& verdict);                              // q
void check_agreement(const History& history, Verdict& verdict);                            // j
void check_recovery(const History& history, const PastHolds& holds, const Expectations& expected,
                    Verdict& verdict);  // k, l
void check_messages(const History& history, const PastHolds& holds, const Expectations& expected,
                    Verdict& verdict);  // m
void check_placing(const History& history, const PastHolds& holds, const Expectations& expected,
                   Verdict& verdict);                                                       // w
void check_end(const History& history, const Expectations& expected, Verdict& verdict);     // z
void check_delays(const History& history, const Expectations& expected, Verdict& verdict);  // D
void check_handovers(const History& history, const PastHolds& holds, Verdict& verdict);     // n
void check_helped(const History& history, Verdict& verdict);                                // H
void check_takes(const History& history, Verdict& verdict);                                 // t
void check_partitions(const History& history, const PastHolds& holds, const Expectations& expected,
                      Verdict& verdict);                                                     // P
void check_sources(const History& history, const Expectations& expected, Verdict& verdict);  // E

}  // namespace tenure::sim

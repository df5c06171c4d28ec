// Judges a history of real processes with the simulator's checker. It knows no more of a pool than the checker does.
//
//   faults_judge HISTORY LEASE_MS RECOVERY_MS
//
// A line of the history is WHAT NANOSECONDS WORDS…, in any order; the time is CLOCK_BOOTTIME. Lines of handlers:
//
//   begin|write|refused|end KEY EPOCH …   a tenure's signs of life; a write was accepted or refused by the ledger
//
// lines of the driver, which identifies requests by key and payload:
//
//   asked resident|task KEY PAYLOAD       answered STATE KEY PAYLOAD
//   stalled SINCE                         the machine, or one of its processors, has not run since then
//   healed                                all faults are over
//   closed                                later lines are not judged
//
// and lines of a witness, which reads the log (witness.cc):
//
//   log.dispatch TICKET KEY PAYLOAD       log.leased SESSION UNTIL       log.fenced POSITION SESSION
//   log.emitted TICKET KEY PAYLOAD        a task of a source, for which nobody waits
//   log.granted POSITION SESSION KEY EPOCH TICKET FIRST                  log.ended POSITION KEY EPOCH DIED
//   log.settled POSITION TICKET STATE CODE                               log.buried POSITION TICKET QUARANTINED
//   log.expired POSITION SESSION          others have declared it dead
//   log.restoring POSITION LOSSES KNOWN GHOST   a member puts back what it knew up to KNOWN, in the log as it was then
//   log.restored POSITION KEY TICKET DEAD   log.restore_ended POSITION
//   log.lost KEPT                         everything after that position is gone
//
// Lines of the log are in its order, and have the earliest possible times, because an engine's times are in whole
// milliseconds. The checker gets the latest times that agree with the handlers, who begin after the grant of a key, and
// with the clients, who get their answers after the log has them.
//
// A lease lasts from a beat in the log for its duration, or until its session's end in the log. But a holder whose beat
// was confirmed, and then lost with the log's tail, cannot know that others, who never read that beat, have declared it
// dead. Such a claim does not shorten what the lost part had given. The holder's own record does, and nothing extends
// it.
//
// A killed program reports no end. Its tenure lasted at least until its last sign of life, and counts as ended then,
// unless the log says that it continues.
//
// For each accepted job that the log has lost, a line is printed: lost KEY PAYLOAD.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/checker/checker.h"

namespace tenure::sim {
namespace {

constexpr Time kLater = 4 * kMilli;  // than the earliest possible
// Who stood still has everything to catch up with at once, and so have all others on the machine.
constexpr Time kResume = 100 * kMilli;
constexpr ProcessNumber kClient = 1;
constexpr ProcessNumber kWorkersFrom = 2;

struct Line {
  std::size_t place = 0;  // in the file
  std::string what;
  Time at = 0;
  std::vector<std::string> words;

  std::string word(std::size_t i) const { return i < words.size() ? words[i] : ""; }
  std::uint64_t number(std::size_t i) const { return std::stoull(words.at(i)); }
  bool is_log() const { return what.starts_with("log."); }
};

using Tenure = std::pair<std::string, std::uint64_t>;

void move_log_later(std::vector<Line>& lines) {
  std::map<Tenure, Time> begun;
  std::map<std::pair<std::string, std::string>, std::string> tickets;  // by key and payload
  std::map<std::pair<std::string, std::string>, Time> told;            // by ticket and step
  for (const Line& line : lines) {
    if (line.what == "log.dispatch") tickets[{line.word(1), line.word(2)}] = line.word(0);
    if (line.what == "begin") begun.try_emplace({line.word(0), line.number(1)}, line.at);
  }
  for (const Line& line : lines) {
    if (line.what == "answered") told.try_emplace({tickets[{line.word(1), line.word(2)}], line.word(0)}, line.at);
  }
  const auto seen_at = [&](const Line& line) {
    if (line.what == "log.granted") {
      const auto begin = begun.find({line.word(2), line.number(3)});
      if (begin != begun.end()) return begin->second;
    } else if (line.what == "log.settled") {
      const auto answer = told.find({line.word(1), line.word(2)});
      if (answer != told.end()) return answer->second;
    }
    return INT64_MAX;
  };
  Time bound = INT64_MAX;
  for (Line& line : std::views::reverse(lines)) {
    if (!line.is_log()) continue;
    // A sight before the earliest possible time is of an earlier event: a resident starts repeatedly, and its client
    // learnt of the first start.
    const Time seen = seen_at(line);
    bound = std::min({bound, line.at + kLater, seen < line.at ? INT64_MAX : seen});
    line.at = bound = std::max(line.at, bound);
  }
}

std::vector<Line> read_lines(const char* path) {
  std::ifstream file(path);
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    Line line;
    line.place = lines.size();
    words >> line.what >> line.at;
    for (std::string word; words >> word;) line.words.push_back(word);
    lines.push_back(std::move(line));
  }
  move_log_later(lines);
  // What the log says comes first of what happened at one time; the rest is in the order of the file.
  const auto place = [](const Line& line) { return std::tuple(line.at, !line.is_log(), line.place); };
  std::sort(lines.begin(), lines.end(), [&](const Line& a, const Line& b) { return place(a) < place(b); });
  const auto closed = std::find_if(lines.begin(), lines.end(), [](const Line& line) { return line.what == "closed"; });
  if (closed != lines.end()) lines.erase(closed + 1, lines.end());
  return lines;
}

std::optional<Step> step_of(const std::string& text) {
  static const std::map<std::string, Step> kSteps{
      {"accepted", Step::accepted}, {"refused", Step::refused}, {"started", Step::started},
      {"done", Step::done},         {"failed", Step::failed},   {"stopped", Step::stopped},
  };
  const auto found = kSteps.find(text);
  return found == kSteps.end() ? std::nullopt : std::optional(found->second);
}

class Translation {
 public:
  explicit Translation(const std::vector<Line>& lines) : lines_(lines) {
    std::map<std::uint64_t, std::vector<Tenure>> granted;  // by position, in the log as it stands
    for (const Line& line : lines_) {
      if (line.what == "log.dispatch") tickets_[{line.word(1), line.word(2)}] = line.number(0);
      if (line.what == "log.ended") over_.insert({line.word(1), line.number(2)});
      if (line.what == "log.granted") granted[line.number(0)].emplace_back(line.word(2), line.number(3));
      if (line.what == "log.lost") {
        const auto lost = granted.upper_bound(line.number(0));
        for (auto at = lost; at != granted.end(); ++at) over_.insert(at->second.begin(), at->second.end());
        granted.erase(lost, granted.end());
      }
      if (line.what == "begin" || line.what == "write" || line.what == "refused" || line.what == "end") {
        last_sign_[{line.word(0), line.number(1)}] = &line;
      }
    }
  }

  History history() {
    for (const Line& line : lines_) {
      at_ = line.at;
      if (line.is_log()) {
        log(line);
      } else if (line.what == "asked" || line.what == "answered") {
        client(line);
      } else if (line.what == "stalled") {
        stalls_.emplace_back(std::stoll(line.words.at(0)), line.at);
      } else if (line.what == "healed") {
        add(Healed{});
      } else if (line.what == "closed") {
        add(Closed{0, 0, 0});
      } else {
        handler(line);
      }
    }
    add_stalls();
    return std::move(history_);
  }

 private:
  struct Granted {
    std::uint64_t session;
    std::uint64_t ticket;
  };

  template <class T>
  void add(T what) {
    history_.push_back({at_, std::move(what)});
  }

  // A machine or a processor that stands still is a pause of all processes that run on it, or that wait for one that
  // does. What they did in it did happen, in its order.
  void add_stalls() {
    std::sort(stalls_.begin(), stalls_.end());
    std::vector<std::pair<Time, Time>> apart;
    for (const auto& [from, until] : stalls_) {
      if (!apart.empty() && from <= apart.back().second) {
        apart.back().second = std::max(apart.back().second, until);
      } else {
        apart.emplace_back(from, until);
      }
    }
    History pauses;
    const auto workers = static_cast<ProcessNumber>(processes_.size());
    for (const auto& [from, until] : apart) {
      for (ProcessNumber i = 0; i < workers; ++i) pauses.push_back({from, ProcessPaused{kWorkersFrom + i}});
      for (ProcessNumber i = 0; i < workers; ++i) pauses.push_back({until, ProcessResumed{kWorkersFrom + i}});
    }
    History both;
    std::merge(std::make_move_iterator(history_.begin()), std::make_move_iterator(history_.end()), pauses.begin(),
               pauses.end(), std::back_inserter(both), [](const Event& a, const Event& b) { return a.at < b.at; });
    history_ = std::move(both);
  }

  ProcessNumber process_of(std::uint64_t session) {
    return processes_.try_emplace(session, kWorkersFrom + static_cast<ProcessNumber>(processes_.size())).first->second;
  }

  void log(const Line& line) {
    if (line.what == "log.emitted") {
      if (emitted_.insert(line.number(0)).second) add(Asked{kClient, line.number(0), Ask::task, line.word(1)});
    } else if (line.what == "log.leased") {
      lease(line.number(0), std::stoll(line.words.at(1)));
    } else if (line.what == "log.fenced") {
      add(LogFenced{line.number(0), line.number(1)});
    } else if (line.what == "log.expired") {
      const auto lost = lost_leases_.find(line.number(1));
      lease(line.number(1), lost == lost_leases_.end() ? at_ : std::max(at_, lost->second));
      add(LogFenced{line.number(0), line.number(1)});
    } else if (line.what == "log.lost") {
      // Those of the kept part are among them: nobody can declare their sessions dead before they are over.
      lost_leases_ = leases_;
      add(LogLost{line.number(0)});
    } else if (line.what == "log.granted") {
      granted_[{line.word(2), line.number(3)}] = {line.number(1), line.number(4)};
      add(LogGranted{line.number(0), line.word(2), line.number(3), line.number(4), line.word(5) == "1",
                     line.number(1)});
    } else if (line.what == "log.ended") {
      const bool died = line.word(3) == "1";
      add(LogEnded{line.number(0), line.word(1), line.number(2), died ? HowEnded::lost : HowEnded::handoff, died});
    } else if (line.what == "log.restoring") {
      add(LogRestoring{line.number(0), line.number(1), line.number(2), line.word(3) == "1"});
    } else if (line.what == "log.restored") {
      add(LogRestored{line.number(0), line.word(1), line.number(2), line.word(3) == "1"});
    } else if (line.what == "log.restore_ended") {
      add(LogRestoreEnded{line.number(0)});
    } else if (line.what == "log.buried") {
      add(LogBuried{line.number(0), line.number(1), line.word(2) == "1"});
    } else if (const auto step = step_of(line.word(2)); line.what == "log.settled" && step) {
      add(LogSettled{line.number(0), line.number(1), *step, static_cast<Errc>(line.number(3))});
    }
  }

  void lease(std::uint64_t session, Time until) {
    leases_[session] = until;
    add(Leased{process_of(session), session, until});
  }

  // A request that is not in the log was never made, as far as the pool is concerned.
  void client(const Line& line) {
    const auto ticket = tickets_.find({line.word(1), line.word(2)});
    if (ticket == tickets_.end()) return;
    if (line.what == "asked") {
      add(Asked{kClient, ticket->second, line.word(0) == "task" ? Ask::task : Ask::resident, line.word(1)});
    } else if (const auto step = step_of(line.word(0))) {
      add(Answered{kClient, ticket->second, *step, Errc::unknown});
    }
  }

  void handler(const Line& line) {
    const Tenure tenure{line.word(0), line.number(1)};
    const Granted by = granted_[tenure];
    const ProcessNumber process = process_of(by.session);
    if (line.what == "begin") add(HoldBegan{process, by.session, tenure.first, tenure.second, by.ticket, 0});
    if (line.what == "write") add(Wrote{process, tenure.first, tenure.second, true});
    if (line.what == "refused") add(Wrote{process, tenure.first, tenure.second, false});
    const bool last = last_sign_[tenure] == &line;
    if (line.what == "end" || (last && over_.contains(tenure))) add(HoldEnded{process, tenure.first, tenure.second});
  }

  const std::vector<Line>& lines_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> tickets_;  // by key and payload
  std::set<std::uint64_t> emitted_;                                       // tickets
  std::set<Tenure> over_;
  std::map<Tenure, const Line*> last_sign_;
  std::map<Tenure, Granted> granted_;
  std::map<std::uint64_t, ProcessNumber> processes_;  // by session
  std::map<std::uint64_t, Time> leases_;              // by session: until when, by the last word
  std::map<std::uint64_t, Time> lost_leases_;         // as they were when the log lost its tail
  std::vector<std::pair<Time, Time>> stalls_;
  History history_;
  Time at_ = 0;
};

// Jobs that the log had accepted and has lost.
void print_lost_jobs(const std::vector<Line>& lines) {
  std::map<std::uint64_t, std::string> names;                    // by ticket
  std::map<std::uint64_t, std::vector<std::uint64_t>> accepted;  // by position, in the log as it stands
  std::set<std::uint64_t> lost;
  for (const Line& line : lines) {
    if (line.what == "log.dispatch" || line.what == "log.emitted")
      names[line.number(0)] = line.word(1) + " " + line.word(2);
    if (line.what == "log.settled" && line.word(2) == "accepted") {
      accepted[line.number(0)].push_back(line.number(1));
      lost.erase(line.number(1));
    }
    if (line.what == "log.restored") {
      accepted[line.number(0)].push_back(line.number(2));
      lost.erase(line.number(2));
    }
    if (line.what != "log.lost") continue;
    const auto from = accepted.upper_bound(line.number(0));
    for (auto at = from; at != accepted.end(); ++at) lost.insert(at->second.begin(), at->second.end());
    accepted.erase(from, accepted.end());
  }
  for (const std::uint64_t ticket : lost) std::printf("lost %s\n", names[ticket].c_str());
}

int run(const char* path, const char* lease_ms, const char* recovery_ms) {
  const std::vector<Line> lines = read_lines(path);
  const History history = Translation(lines).history();
  Expectations expected;
  expected.lease = std::stoll(lease_ms) * kMilli;
  expected.recovery = std::stoll(recovery_ms) * kMilli;
  // The clients are programs that have ended long ago.
  expected.all_answered = false;
  expected.begins_late = true;
  expected.quarantine_after = UINT32_MAX;  // no handler here crashes its worker: nothing may be quarantined
  expected.resume_slack = kResume;
  const std::vector<Violation> found = check(history, expected);
  std::size_t shown = 0;
  for (const Violation& violation : found) {
    if (++shown <= 50) std::printf("  %s\n", to_string(violation).c_str());
  }
  print_lost_jobs(lines);
  const auto grants = std::count_if(history.begin(), history.end(),
                                    [](const Event& event) { return std::holds_alternative<LogGranted>(event.what); });
  const auto losses =
      std::count_if(lines.begin(), lines.end(), [](const Line& line) { return line.what == "log.lost"; });
  std::printf("%zu events, %zu tenures granted, %zu losses of the log, %zu violations\n", history.size(),
              static_cast<std::size_t>(grants), static_cast<std::size_t>(losses), found.size());
  return found.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tenure::sim

int main(int count, char** words) { return count == 4 ? tenure::sim::run(words[1], words[2], words[3]) : 64; }

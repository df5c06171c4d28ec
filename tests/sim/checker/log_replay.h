#pragma once

// Applies the log's story as users were told it: which jobs are alive, under which key, and who was granted what. It
// belongs to the checker, is simple and slow, and shares nothing with the machine but the promises.

#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "sim/checker/verdict.h"

namespace tenure::sim {

using AskedBy = std::map<std::uint64_t, Asked>;  // by ticket
AskedBy asked_by_ticket(const History& history);

struct ReplayedMessage {
  std::uint64_t ticket;
  Time accepted_at;
};

struct ReplayedJob {
  const Asked* asked = nullptr;
  Time accepted_at = 0;
  bool granted = false;  // at least once
  bool begun = false;    // by a handler, as far as the log says
  bool live = true;      // neither settled for good nor, for a task, buried
  bool buried = false;
  bool started = false;                   // at least once
  bool restored = false;                  // put back; its delay began anew with what was left of it
  bool vague = false;                     // put back from a log of which not all is known
  std::uint64_t value = 0;                // the last checkpoint or blob
  std::vector<ReplayedMessage> messages;  // in the order of acceptance
};

struct ReplayedKey {
  std::uint64_t resident = 0;       // the live resident job
  bool taken = false;               // a job was accepted for it in this log
  bool stopping = false;            // a stop was accepted: the resident job is on its way out
  std::list<std::uint64_t> tasks;   // live tasks in the order of acceptance, but for the delayed ones
  std::set<std::uint64_t> delayed;  // live tasks that may be overtaken
  std::uint64_t epoch = 0;          // of the current tenure; zero if there is none
  std::uint64_t holder_ticket = 0;  // what that tenure is for
  std::uint64_t timed_out = 0;      // the epoch whose start took too long
  bool takes_messages() const { return resident != 0 && !stopping; }
  bool any() const { return resident != 0 || !tasks.empty() || !delayed.empty(); }
};

class LogReplay {
 public:
  LogReplay(const AskedBy& asked, const Expectations& expected, Verdict& verdict,
            std::shared_ptr<const RememberedLines> remembered)
      : asked_(asked), expected_(expected), verdict_(verdict), remembered_(std::move(remembered)) {}

  void apply(const Event& event);

  std::map<std::uint64_t, ReplayedJob> jobs;
  std::map<std::string, ReplayedKey> keys;
  std::set<std::uint64_t> messages;                                      // accepted and not settled yet
  std::map<std::uint64_t, Time> stops;                                   // accepted and not settled yet
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> given;  // what each tenure must be started with

 private:
  void on(const LogSettled& settled);
  void on(const LogGranted& granted);
  void on(const LogEnded& ended);
  void on(const LogTimedOut& timed_out);
  void on(const LogBuried& buried);
  void on(const LogShutdown& began);
  void on(const LogBlob& blob);
  void on(const LogRestored& restored);
  void on(const LogRestoreEnded& ended);
  template <class T>
  void on(const T&) {}

  void remember(const Event& restoring);
  bool is_left_out(const ReplayedJob& job) const;
  void accept(const Asked& asked);
  void accept_job(const Asked& asked);
  struct Waiting {
    std::uint32_t queued = 0;   // for a handler, surely
    std::uint32_t delayed = 0;  // surely
    std::uint32_t either = 0;   // not known: the log may not have seen yet that the delay is over
  };
  Waiting waiting() const;
  void refuse(const Asked& asked, Errc code);
  void settle(const Asked& asked, Step step);
  void begin(std::uint64_t ticket, bool started);
  void leave_key(const Asked& asked);
  void enter_key(const Asked& asked);
  void broken(char promise, const std::string& text) { verdict_.broken(promise, now_, text); }

  const AskedBy& asked_;
  const Expectations& expected_;
  Verdict& verdict_;
  std::shared_ptr<const RememberedLines> remembered_;
  Verdict ignored_;                       // of the next: it was said when that log was judged
  std::unique_ptr<LogReplay> old_;        // what is being put back
  std::set<std::uint64_t> known_before_;  // to the members that began with it: jobs that were not over
  bool took_over_ = false;                // one of them has died over it
  bool earlier_ghost_ = false;            // and what it knew is not known exactly
  bool of_ghost_ = false;  // it went on in a log that had been replaced: what it was is not known exactly
  Time now_ = 0;
  std::uint64_t dropped_ = 0;  // a job that has run and failed; unless it is buried with the next event
  bool ending_ = false;        // the pool was shut down
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> batches_;  // sender and sequence -> first position
};

}  // namespace tenure::sim

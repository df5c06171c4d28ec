#pragma once

// The common part of the hosts of programs: waiting jobs, the sessions and their leases, the polling thread, and the
// communication with the guard. ProgramHost and WarmHost decide which program runs what.
//
//   node's loop ── start, stop, message ──▶ host's thread ─ messages ─▶ guard ──▶ keepers ──▶ programs
//   heart's loop ─ lease, fence, kill ─────────── page, messages ────▶ guard
//
// Only the guard is needed to end a program in time: not the host's thread, the node's or the heart's.

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <tenure/defaults.hpp>
#include <thread>
#include <vector>

#include "base/posted_work.h"
#include "exec/dialogue.h"
#include "exec/host_sessions.h"
#include "exec/poller.h"
#include "guard/guard.h"
#include "guard/guard_deaths.h"
#include "node/keys/emitter.h"
#include "node/keys/host.h"

namespace tenure::exec {

struct ProgramOptions {
  std::string pool = "default";
  std::vector<std::string> command;  // the program, found by PATH, and its arguments
  Protocol protocol = Protocol::plain;
  Nanos lease = std::chrono::milliseconds(kWorkerTtlMsDefault);  // as in NodeOptions
  std::string folder;                                            // where programs run; empty: where this process does
  std::string work_parent;                                       // for private folders; empty: TMPDIR, or /tmp
  std::size_t tasks_max = 1024;                                  // that run at once; further ones wait
  std::string engine_url;  // where the guard reports the session's end after a crash; empty: nowhere
  // Both are called on the host's thread. A line that a program wrote: standard error, and output that is not an
  // answer.
  std::function<void(const Hold&, BytesView line)> log;
  // The guard is gone, and its programs are gone or about to be. Call Node::host_lost().
  std::function<void()> guard_lost;
};

// Calls as in Host. Call attach() before the node is started. The node must end before the host.
class GuardedHost : public Host {
 public:
  // Without `emitters` programs cannot emit.
  void attach(HoldReports& reports, EmitterMaker emitters = {}) {
    reports_ = &reports;
    emitters_ = std::move(emitters);
  }

  void start(HeldJob job) final;
  void stop(const Hold& hold, StopReason reason, Instant deadline) final;
  void give_back_waiting(std::uint64_t session) final;
  void lease_until(std::uint64_t session, Instant until) final;
  void lease_over(std::uint64_t session) final;
  void fence(std::uint64_t session) final;
  void kill(std::uint64_t session) final;

 protected:
  GuardedHost(guard::Guard& guard, ProgramOptions options);

  // The first and the last call of a derived host, because the thread calls its virtual functions.
  void begin_serving(const char* thread_name);
  void end_serving();

  // On the host's thread:
  virtual void begin(HeldJob job) = 0;
  virtual bool stop_running(const Hold& hold, Instant deadline) = 0;  // false: no program runs it
  virtual void session_fenced(std::uint64_t session) = 0;
  virtual void session_over(std::uint64_t /*session*/) {}
  virtual void obey(const guard::Message& message) = 0;
  virtual void happened(std::uint64_t tag) = 0;  // to a program, or to another watched descriptor
  virtual int wait_ms() const = 0;
  virtual void turn_over() = 0;
  virtual void end_programs() = 0;
  virtual void programs_gone() = 0;  // together with their guard

  // Ends what dead workers on this host have left behind, before a resident is started. Tasks are much more frequent
  // than deaths, so only one of several tasks at a time looks.
  void end_left_behind(JobKind kind);
  bool guard_ready();  // starts another guard if the last one is gone
  void drop_waiting(std::uint64_t session);
  void settle(const Hold& hold, std::uint64_t session, const Verdict& verdict);
  Bytes why_refused(int error_number, guard::StartStep step) const;
  void log(const Hold& hold, BytesView line) const;
  // The maximum of log lines from what a program wrote between two looks, which is at most some hundred kilobytes.
  // Otherwise a program that writes only line ends would block the others while its lines are printed.
  static constexpr std::size_t kLogLinesMax = 1000;
  void log_left_out(const Hold& hold, std::size_t lines) const;
  // The verdict on a program whose keeper or shield was killed, unless it was about to end anyway.
  Verdict guard_killer(const Verdict& otherwise, Cause cause);
  // The worker cannot run the job at all. Where the job is a resident, and has never run, its key is free again.
  static Verdict not_begun(JobKind kind, Bytes error);
  static Verdict failed(Bytes error, HoldReports::Next next = HoldReports::Next::retry);

  // Any thread.
  void post(std::function<void()> work) { posted_.post(std::move(work)); }

  guard::Guard& guard_;
  const ProgramOptions options_;
  HoldReports* reports_ = nullptr;
  EmitterMaker emitters_;
  HostSessions sessions_;

  // Owned by the host's thread.
  Poller poller_;
  std::deque<HeldJob> waiting_;
  std::uint64_t last_number_ = 0;  // of the last program
  bool guard_lost_ = false;

 private:
  void serve();
  int wait_all_ms() const;
  void watch_guard();
  void hear_guard();
  void lose_guard();
  void all_gone();
  void conclude_gone();

  const std::uint32_t log_number_;
  // Owned by the host's thread.
  bool stopping_ = false;
  guard::GuardDeaths deaths_;
  Instant next_sweep_{};
  std::optional<Instant> gone_due_;  // the programs are gone with their guard; report it at this moment

  PostedWork posted_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::exec

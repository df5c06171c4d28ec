#pragma once

// What the hosts of programs have in common: the jobs that wait, the sessions and their leases, the thread that polls,
// and the dealings with the guard. Which program does what is for ProgramHost and WarmHost.
//
//   node's loop ── start, stop, message ──▶ host's thread ─ messages ─▶ guard ──▶ keepers ──▶ programs
//   heart's loop ─ lease, fence, kill ─────────── page, messages ────▶ guard
//
// Whether a program ends in time hangs on the guard alone: neither on the host's thread, nor on the node's, nor on
// the heart's.

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <tenure/defaults.hpp>
#include <thread>
#include <vector>

#include "exec/dialogue.h"
#include "exec/host_sessions.h"
#include "exec/poller.h"
#include "guard/guard.h"
#include "guard/guard_deaths.h"
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
  std::string engine_url;  // where the guard says the session's end after a crash; empty: nowhere
  // Both on the host's thread. What a program wrote, line by line: standard error, and what is no answer.
  std::function<void(const Hold&, BytesView line)> log;
  // The guard is gone, and its programs with it or about to be: Node::host_lost() is to be called.
  std::function<void()> guard_lost;
};

// Calls as Host says; attach() comes before the node is started, and the node ends before the host.
class GuardedHost : public Host {
 public:
  void attach(HoldReports& reports) { reports_ = &reports; }

  void start(HeldJob job) final;
  void stop(const Hold& hold, StopReason reason, Instant deadline) final;
  void give_back_waiting(std::uint64_t session) final;
  void lease_until(std::uint64_t session, Instant until) final;
  void lease_over(std::uint64_t session) final;
  void fence(std::uint64_t session) final;
  void kill(std::uint64_t session) final;

 protected:
  GuardedHost(guard::Guard& guard, ProgramOptions options);

  // The first and the last that a host does: its thread calls what is virtual here.
  void begin_serving(const char* thread_name);
  void end_serving();

  // The host's thread, from here on.
  virtual void begin(HeldJob job) = 0;
  virtual bool stop_running(const Hold& hold, Instant deadline) = 0;  // false: no program is at it
  virtual void session_fenced(std::uint64_t session) = 0;
  virtual void session_over(std::uint64_t /*session*/) {}
  virtual void obey(const guard::Message& message) = 0;
  virtual void happened(std::uint64_t tag) = 0;  // with a program, or whatever else was watched
  virtual int wait_ms() const = 0;
  virtual void turn_over() = 0;
  virtual void end_programs() = 0;
  virtual void programs_gone() = 0;  // with their guard

  // What workers that died on this host have left, before a resident is started. Tasks come much more often than
  // workers die: of those that come together one looks.
  void end_left_behind(JobKind kind);
  bool guard_ready();  // starts another guard where the last one is gone
  void drop_waiting(std::uint64_t session);
  void settle(const Hold& hold, std::uint64_t session, const Verdict& verdict);
  Bytes why_refused(int error_number, guard::StartStep stage) const;
  void log(const Hold& hold, BytesView line) const;
  // Of what a program wrote between two looks, which is at most some hundred kilobytes, so many lines are logged: one
  // that writes nothing but line ends would keep the others waiting for as long as it takes to say all of them.
  static constexpr std::size_t kLogLinesMax = 1000;
  void log_left_out(const Hold& hold, std::size_t lines) const;
  // The verdict on a program whose keeper or shield was killed, unless it was to end anyway.
  Verdict guard_killer(const Verdict& otherwise, Cause cause);
  // The worker cannot run the job at all. Where the job is a resident, and has never run, its key is free again.
  static Verdict not_begun(JobKind kind, Bytes error);
  static Verdict failed(Bytes error, HoldReports::Next next = HoldReports::Next::retry);

  // Any thread.
  void post(std::function<void()> work);

  guard::Guard& guard_;
  const ProgramOptions options_;
  HoldReports* reports_ = nullptr;
  HostSessions sessions_;

  // Owned by the host's thread.
  Poller poller_;
  std::deque<HeldJob> waiting_;
  std::uint64_t last_number_ = 0;  // of a program
  bool guard_lost_ = false;

 private:
  void serve();
  int wait_all_ms() const;
  void run_posted();
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
  std::optional<Instant> gone_due_;  // the programs are gone with their guard; told at this moment

  const Descriptor wake_;
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;  // guarded by mutex_

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::exec

#pragma once

// Runs users' programs as handlers: one for each tenure of a resident job, and for each attempt of a task, as
// docs/handlers.md describes it. The programs are started and ended by the guard; this host talks with them.
//
//   node's loop ── start, stop, message ──▶ host's thread ── frames ──▶ guard ──▶ keepers ──▶ programs
//   heart's loop ─ lease, fence, kill ─────────── page, frames ───────▶ guard
//
// Whether a program ends in time hangs on the guard alone: neither on the host's thread, nor on the node's, nor on
// the heart's.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "exec/checkpoint_watch.h"
#include "exec/dialogue.h"
#include "exec/guard.h"
#include "exec/job_folder.h"
#include "exec/program.h"
#include "node/host.h"

namespace tenure::exec {

struct ProgramOptions {
  std::string pool = "default";
  std::vector<std::string> command;  // the program, found by PATH, and its arguments
  Protocol protocol = Protocol::plain;
  Nanos lease = std::chrono::seconds(10);  // as in NodeOptions
  std::string folder;                      // where programs run; empty: where this process does
  std::string work_parent;                 // for private folders; empty: TMPDIR, or /tmp
  std::size_t tasks_max = 1024;            // that run at once; further ones wait
  std::string engine_url;                  // where the guard says the session's end after a crash; empty: nowhere
  // Both on the host's thread. What a program wrote, line by line: standard error, and what is no answer.
  std::function<void(const Hold&, BytesView line)> log;
  // The guard is gone, and its programs with it or about to be: Node::host_lost() is to be called.
  std::function<void()> guard_lost;
};

// Calls as Host says; attach() comes before the node is started, and the node ends before the host.
class ProgramHost final : public Host {
 public:
  static Result<std::unique_ptr<ProgramHost>> create(Guard& guard, ProgramOptions options);
  ~ProgramHost() override;

  void attach(HoldReports& reports) { reports_ = &reports; }

  void start(HeldJob job) override;
  void stop(const Hold& hold, StopReason reason, Instant deadline) override;
  void message(const Hold& hold, std::uint64_t number, BytesView text) override;
  void give_back_waiting() override;
  void lease_until(std::uint64_t session, Instant until) override;
  void lease_over(std::uint64_t session) override;
  void fence(std::uint64_t session) override;
  void kill(std::uint64_t session) override;

 private:
  using Programs = std::map<std::uint64_t, std::unique_ptr<Program>>;

  ProgramHost(Guard& guard, ProgramOptions options, WorkFolder work);

  // The host's thread, from here on.
  void serve();
  void turn();
  void run_posted();
  void happened(std::uint64_t tag);
  int wait_ms() const;

  void begin(const HeldJob& job);
  bool may_launch(const HeldJob& job) const;
  void launch(const HeldJob& job);
  Result<std::unique_ptr<Program>> prepare(const HeldJob& job, int slot, std::vector<Descriptor>& theirs);
  std::vector<std::string> environment_of(const HeldJob& job, const std::string& folder) const;
  void launch_waiting();
  void stop_program(Program& program, Instant deadline);
  void stop_session(std::uint64_t session);
  void check_patience();

  void hear_guard();
  void obey(const Frame& frame);
  void start_settled(Program& program);
  void lose_guard();
  void all_gone();
  bool guard_ready();

  void exchange(Program& program);  // reads and writes what can be, and tells the node
  void tell(Program& program, std::deque<Said>& said);
  void take_checkpoint(Program& program);
  void write_on(Program& program);
  void ended(Program& program, int status);
  void refused(Program& program, int error_number, Stage stage);
  void conclude(Program& program, const Verdict& verdict);
  void settle(const Hold& hold, std::uint64_t session, const Verdict& verdict);
  void log(const Hold& hold, BytesView line) const;
  void watch(int descriptor, std::uint64_t tag, std::uint32_t events, bool change = false) const;

  // Any thread.
  void post(std::function<void()> work);
  bool is_fenced(std::uint64_t session);
  // Fenced, or the guard has ended what it runs because the lease was not renewed.
  bool is_ending(std::uint64_t session);

  Guard& guard_;
  const ProgramOptions options_;
  const WorkFolder work_;
  const std::uint32_t log_number_;
  HoldReports* reports_ = nullptr;

  // Owned by the host's thread.
  Descriptor poll_;
  CheckpointWatch checkpoints_;
  Programs programs_;                               // by number
  std::map<std::uint64_t, std::uint64_t> numbers_;  // epoch -> number
  std::deque<HeldJob> waiting_;                     // for one of the bounds below
  std::size_t tasks_ = 0;
  std::size_t starting_ = 0;
  std::uint64_t last_number_ = 0;
  bool guard_lost_ = false;
  bool stopping_ = false;

  Descriptor wake_;
  std::mutex mutex_;
  std::condition_variable emptier_;
  // Guarded by mutex_.
  std::deque<std::function<void()>> posted_;
  std::map<std::uint64_t, std::size_t> live_;  // session -> jobs that were started and not concluded
  std::set<std::uint64_t> fenced_;
  std::map<std::uint64_t, Instant> guarded_until_;  // session -> when the guard ends what it runs

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::exec

#pragma once

// Runs tasks through programs that stay, instead of starting one for each (`tenure work --warm N`). A task is a line of
// the json protocol to a program that is free, and a line back; docs/handlers.md has the words.
//
// Programs belong to the session under which they were started, and get tasks of that session only. So the guard's
// promise is what it is for programs that run once: when the session's lease runs out, unrenewed, the guard ends them,
// whatever has become of this process. A task that is to stop is stopped with its program; the next one gets another.
//
// Threads as in ProgramHost (program_host.h).

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "exec/guard.h"
#include "exec/program_host.h"
#include "exec/warm_program.h"
#include "node/host.h"

namespace tenure::exec {

// Calls as Host says; attach() comes before the node is started, and the node ends before the host.
class WarmHost final : public Host {
 public:
  // Of the options `protocol`, `work_parent` and `tasks_max` mean nothing here: programs are given no folder, and
  // there are up to `programs` of them, each with one task at a time.
  static Result<std::unique_ptr<WarmHost>> create(Guard& guard, ProgramOptions options, std::size_t programs);
  ~WarmHost() override;

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
  using Programs = std::map<std::uint64_t, std::unique_ptr<WarmProgram>>;

  WarmHost(Guard& guard, ProgramOptions options, std::size_t programs);

  // The host's thread, from here on. warm_host.cc:
  void serve();
  void run_posted();
  void happened(std::uint64_t tag);
  void hear_guard();
  void obey(const Frame& frame);
  void lose_guard();
  void all_gone();
  bool guard_ready();
  void watch(int descriptor, std::uint64_t tag, std::uint32_t events, bool change = false) const;

  // warm_host_tasks.cc:
  void begin(HeldJob job);
  bool place(const HeldJob& job);  // false: it has to wait
  void launch(const HeldJob& job);
  void serve_waiting();
  void exchange(WarmProgram& program, std::uint64_t tag);
  void write_on(WarmProgram& program);
  void tell(WarmProgram& program);
  void tell_started();
  void stop_one(WarmProgram& program, Instant deadline);
  void stop_session(std::uint64_t session, bool at_once);
  void ended(WarmProgram& program, int status);
  void refused(WarmProgram& program, int error_number, Stage stage);
  void forget(WarmProgram& program);
  void settle(const Hold& hold, std::uint64_t session, const Verdict& verdict);
  void log(const Hold& hold, BytesView line) const;

  // Any thread.
  void post(std::function<void()> work);
  void count_live(std::uint64_t session);
  void count_done(std::uint64_t session);
  bool is_fenced(std::uint64_t session);
  // Fenced, or the guard has ended what it runs because the lease was not renewed.
  bool is_ending(std::uint64_t session);

  Guard& guard_;
  const ProgramOptions options_;
  const std::size_t programs_max_;
  const std::uint32_t log_number_;
  HoldReports* reports_ = nullptr;

  // Owned by the host's thread.
  Descriptor poll_;
  Programs programs_;                               // by number
  std::vector<WarmProgram*> free_;                  // the last to come is the first to go: it is the warmest
  std::map<std::uint64_t, std::uint64_t> numbers_;  // epoch -> number of the program that is at it
  std::deque<HeldJob> waiting_;
  std::uint64_t last_number_ = 0;
  Instant next_look_{};
  bool guard_lost_ = false;
  bool stopping_ = false;

  Descriptor wake_;
  std::mutex mutex_;
  std::condition_variable emptier_;
  // Guarded by mutex_.
  std::deque<std::function<void()>> posted_;
  std::map<std::uint64_t, std::size_t> live_;  // session -> jobs that are not concluded, and programs
  std::set<std::uint64_t> fenced_;
  std::map<std::uint64_t, Instant> guarded_until_;  // session -> when the guard ends what it runs

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::exec

#pragma once

// All child processes of this process's pools, with the guard that starts and ends them (guard.h), and a thread that
// receives their ends and enforces their limits.
//
//     worker ── start, stop, kill ──▶ ChildProcesses ─ messages ─▶ guard ──▶ keepers ──▶ programs
//        ▲                             │
//        └──────── its socket ─────────┼──────────────────────────────────────────────────▶ program
//                                      └── died(), retire() ──▶ pool
//
// A process has one object of this class. It is never destroyed, because a pool may end on any thread, even on the
// object's own. The guard ends with the last user, and is started again for the next one.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "guard/guard.h"
#include "net/wire.h"
#include "process/child.h"

namespace tenure::process {

// Thread-safe.
class ChildProcesses {
 public:
  static ChildProcesses& of_process();
  // Sets the guard's command line for the next start. A program that can be its own guard calls this first.
  static void use_guard(std::vector<std::string> command);
  // Sets where programs that are started from now on write their standard error. Without it, to this process's.
  static void use_errors(Descriptor errors);

  // Its owner may start children. The guard runs while there is one.
  class Use {
   public:
    Use() { of_process().enter(); }
    ~Use() { of_process().leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  // Waits until the program runs. Errc::unavailable has the reason if it cannot.
  Result<ChildPtr> start(const ProcessOptions& options, std::optional<WorkerAlarm> alarm, net::Time deadline);
  // Sends SIGTERM to its group, and SIGKILL to its tree after `patience`.
  void stop(Child& child, Nanos patience);
  // Sends SIGKILL to its tree. A thread that reads from it sees the end at once.
  void kill(const ChildPtr& child, std::string_view reason);
  // Waits until nothing of it is left. Returns false after the deadline, and at once on the own thread of this object.
  bool wait_ended(const Child& child, net::Time deadline);
  // Why it ended, in words. Waits a moment for the reason.
  std::string fate(const Child& child);
  bool runs(const Child& child);
  pid_t process(const Child& child);

 private:
  using Lock = std::unique_lock<std::mutex>;
  // The only session. It lasts as long as this process.
  static constexpr std::uint64_t kSession = 1;
  // What to report to the pools once the mutex is free.
  struct News {
    std::vector<std::pair<WorkerAlarm, std::string>> dead;
    std::vector<std::pair<WorkerAlarm, std::string>> worn_out;
  };

  ChildProcesses();
  void enter();
  void leave();
  Status ready_guard(Lock& lock, net::Time deadline);
  void wake() const;

  // Runs on the own thread, with mutex_ held.
  void serve();
  void tend_guard();
  void hear_guard(News& news);
  void obey(const guard::Message& message, News& news);
  void lose_guard();
  void all_gone(News& news);
  void ended(const ChildPtr& child, std::string why, News& news);
  Nanos enforce(News& news);
  void obey(const ChildPtr& child, const guard::Judgement& judgement, News& news);
  void end_now(const ChildPtr& child, std::string why, News& news);
  static void tell(const News& news);  // without mutex_

  Descriptor wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::thread::id thread_;
  std::unique_ptr<guard::Guard> guard_;  // created and destroyed by the own thread
  bool guard_lost_ = false;              // it is gone, or about to be
  std::optional<Error> guard_error_;     // why the last attempt to start it failed
  std::uint64_t attempts_ = 0;           // to start it
  bool guard_wanted_ = false;
  std::vector<std::string> guard_command_;
  Descriptor errors_;
  std::uint64_t users_ = 0;
  std::map<std::uint64_t, ChildPtr> children_;  // that have not ended
  std::uint64_t last_number_ = 0;
  Instant next_memory_look_{};
};

// "ended with exit code 3", "was killed by signal 9 (SIGKILL)"; `status` is as from waitpid.
std::string describe_end(int status);

}  // namespace tenure::process

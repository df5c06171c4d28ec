#pragma once

// Runs handlers in threads of this process. The calls for one job come one after the other. Up to `concurrency` jobs
// run in parallel. No user code runs on a loop, or with a lock held.
//
//     node loop ── start, stop, message ─▶ queue ─▶ executor threads: handler ─▶ reports ─▶ node loop
//     heart ────── fence ─▶ stop flags; a separate thread trips the tokens
//           ────── kill ──▶ the process ends, because a thread cannot be killed
//
// Stops do not wait for running jobs: if every executor thread is taken, as many helper threads again only stop
// residents. Otherwise long tasks could delay a handoff or a fence.
//
// A pool of several shards has several nodes, each with a loop. A HostPart is one node's view of the host.
//
// Jobs that are granted in one turn of the loop are passed on together, or in portions if they are many. A busy
// executor is not woken for a task: threads take the next job when they have finished one, and a thread wakes another
// only if more jobs are in the queue. If jobs are shorter than a wake-up, not even then: one thread runs them all, and
// another checks from time to time that it is not stuck (pool/pace.h).
//
// A thread of the engine that has read a job may run it itself, if another thread takes its place (base/errand.h). Here
// it is a guest that leaves after one job. So on an idle host no thread has to be woken for a job.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <set>
#include <string>
#include <tenure/options.hpp>
#include <thread>
#include <vector>

#include "base/id_map.h"
#include "base/thread_loop.h"
#include "node/keys/host.h"
#include "pool/live_job.h"
#include "pool/pace.h"

namespace tenure {

struct ThreadHostOptions {
  std::size_t concurrency = 4;
  OnLeaseLost on_lease_lost = OnLeaseLost::end_process;
  OnStopOverdue on_stop_overdue = OnStopOverdue::keep_waiting;
  std::string pool;  // for the message when the process has to end
  std::function<void(LogLevel, std::string)> log = [](LogLevel, const std::string&) {};
};

// How long a task runs before its dispatcher learns that it has started. Short tasks only report their end.
constexpr Nanos kStartedAfter = std::chrono::milliseconds(10);
// The exit code of a process that could not stop its handlers before its lease ran out.
constexpr int kLeaseLostExit = 75;

class PoolGuard;
class ThreadHost;

// One node's view of the host.
class HostPart final : public Host {
 public:
  explicit HostPart(ThreadHost& host) : host_(host) {}

  // Sets where reports go, and the node's loop. Call it before the first worker is added.
  void attach(HoldReports& reports, ThreadLoop& loop);
  // The node is gone, or about to be: nothing more is reported.
  void detach();

  void start(HeldJob job) override;
  void stop(const Hold& hold, StopReason reason, Instant deadline) override;
  void message(const Hold& hold, std::uint64_t number, BytesView text) override;
  void give_back_waiting(std::uint64_t session) override;
  void lease_until(std::uint64_t session, Instant until) override;
  void lease_over(std::uint64_t session) override;
  void fence(std::uint64_t session) override;
  void kill(std::uint64_t session) override;

 private:
  void hand_over();
  void tell_long_tasks();
  void watch_stop(std::uint64_t epoch, Instant deadline);
  void look_for_overdue_stops();

  ThreadHost& host_;
  HoldReports* reports_ = nullptr;
  ThreadLoop* loop_ = nullptr;
  // Owned by the node's loop.
  std::vector<LiveJobPtr> started_;  // passed on at the end of this turn
  bool turn_posted_ = false;
  std::unique_ptr<Timer> long_;
  std::vector<const LiveJob*> seen_running_;  // at the last look
  struct StopDue {
    std::int64_t at;  // nanoseconds since boot
    std::uint64_t epoch;
    friend bool operator>(const StopDue& a, const StopDue& b) { return a.at > b.at; }
  };
  // Also of jobs that have stopped since: they are left out when their time comes.
  std::priority_queue<StopDue, std::vector<StopDue>, std::greater<>> stops_due_;
  std::unique_ptr<Timer> overdue_;
};

class ThreadHost final {
 public:
  explicit ThreadHost(ThreadHostOptions options);
  // Call shut() before, unless nothing was started.
  ~ThreadHost();
  ThreadHost(const ThreadHost&) = delete;
  ThreadHost& operator=(const ThreadHost&) = delete;

  // Created on first use, by one thread, before any of them is attached.
  HostPart& part(std::size_t shard);
  // False if the worker already has one.
  bool add_handler(const std::string& worker, std::shared_ptr<Handler> handler);
  void remove_handler(const std::string& worker);

  // Ends the executor. False if a handler has not returned by then. The node must be closed or gone.
  bool shut(std::chrono::steady_clock::time_point deadline);
  // For handlers that do not return: does what OnLeaseLost says. After keep_running the host must never be destroyed.
  void abandon();
  // The guard that reports this process's death. It must outlive the nodes.
  void set_guard(PoolGuard& guard, bool note_crashes);
  // True if the caller is a handler of this host.
  bool on_executor() const;

  // What residents emit with. Call it before the first worker is added.
  void set_emitters(EmitterMaker make);

  // For LiveJob: a resident has ended by itself.
  void end_by_itself(LiveJob& job, Outcome outcome);
  static Status checkpoint(const LiveJob& job, std::string bytes);

 private:
  friend class HostPart;
  enum class Step : std::uint8_t { none, begin, message, stop };
  // While one thread works alone, an idle thread checks that it is not stuck.
  enum class Lookout : std::uint8_t { none, called, there };

  std::shared_ptr<Handler> handler_of(const Bytes& worker);  // null if it has none
  void serve(std::size_t slot);
  void help(std::size_t slot);
  bool invite();
  void serve_as_guest();
  void begin_next(std::size_t slot, std::unique_lock<std::mutex>& lock);
  bool has_room() const { return working_ < options_.concurrency; }
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void answer_call();
  void look_out(std::unique_lock<std::mutex>& lock);
  void work_on(LiveJobPtr job, std::size_t slot, std::unique_lock<std::mutex>& lock);
  void forget(LiveJobPtr job, std::unique_lock<std::mutex>& lock);
  static Step next_step(const LiveJob& job);
  void perform(const LiveJobPtr& job, Step step, const LiveJob::Message& message);
  void begin(const LiveJobPtr& job);
  void run_stop(const LiveJobPtr& job);
  bool note_failed_stop(LiveJob& job, const std::string& error);
  void run_message(const LiveJobPtr& job, const LiveJob::Message& message);

  void enqueue(const LiveJobPtr& job);
  void wake();
  void wake_for_stop();
  bool conclude(LiveJob& job);
  void give_back(LiveJob& job);
  void trip_later(const LiveJobPtr& job);
  static void tell_end(const LiveJob& job, Outcome outcome, HoldReports::Next on_failure);
  void log(LogLevel level, const std::string& text) { options_.log(level, text); }
  [[noreturn]] void end_process(const std::string& why) const;

  static thread_local const ThreadHost* executing_;

  ThreadHostOptions options_;
  const std::shared_ptr<HostDoor> door_;
  std::deque<HostPart> parts_;  // by shard; never moved
  const BootClock clock_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable helper_wake_;
  std::condition_variable quiet_;
  std::map<std::string, std::shared_ptr<Handler>, std::less<>> handlers_;  // this and all below: guarded by mutex_
  IdMap<LiveJobPtr> live_;                                                 // by epoch; until the job has ended
  std::deque<LiveJobPtr> queue_;
  std::deque<LiveJobPtr> stops_;  // served first
  // Jobs that have ended while others wait. A loop frees them, because loops allocate them: memory that one thread
  // allocates and another frees makes both wait for the allocator.
  std::vector<LiveJobPtr> spent_;
  std::set<std::uint64_t> fenced_;           // sessions
  std::mutex guard_mutex_;                   // the heart takes no lock that handlers' threads may hold for long
  PoolGuard* guard_ = nullptr;               // guarded by guard_mutex_
  std::map<std::uint64_t, Instant> leases_;  // guarded by guard_mutex_: of sessions, for a guard that comes later
  std::vector<std::thread> threads_;
  std::vector<LiveJobPtr> running_;  // by thread
  std::size_t executors_ = 0;        // of the threads; the others are helpers
  std::size_t idle_ = 0;
  std::size_t working_ = 0;                // threads with a job from the queue
  std::size_t guests_ = 0;                 // invited, and still here
  std::vector<std::size_t> guest_places_;  // places in running_ that no guest uses now
  std::size_t helpers_idle_ = 0;
  Pace pace_;
  bool alone_ = false;  // waiting jobs are left to the thread that took the last job
  Lookout lookout_ = Lookout::none;
  bool stopping_ = false;
  bool abandoned_ = false;

  ThreadLoop trips_;
};

}  // namespace tenure

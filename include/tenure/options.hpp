#pragma once

// The options of pools, workers and dispatches, with their defaults.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tenure/assignment.hpp>
#include <tenure/defaults.hpp>
#include <tenure/job_match.hpp>
#include <tenure/kinds.hpp>
#include <vector>

namespace tenure {

enum class LogLevel : std::uint8_t { info, warning, error };

// What to do with handlers that still run when the lease runs out. From then on another worker may get their keys, and
// a thread cannot be ended from outside.
enum class OnLeaseLost : std::uint8_t {
  end_process,   // end the process with exit code 75 and a line on standard error, so that no key has two holders
  keep_running,  // let them run: only for programs whose writes are all checked by epoch
};

// Whether a process with workers has a guard (PoolOptions::guard). The program is looked for where TENURE_GUARD says,
// beside this program, where it was installed, and in PATH.
enum class Guard : std::uint8_t {
  automatic,  // if the program is found; none for memory:
  on,         // without one a worker cannot be added
  off,
};

// What to do when a handler has not stopped within worker_shutdown_ttl after it was asked to, or its stop() threw. The
// lease is renewed all the while, so no other worker gets the key.
enum class OnStopOverdue : std::uint8_t {
  keep_waiting,  // write an error to the log; the key stays with this worker until the handler has stopped
  end_process,   // end the process with exit code 75 and a line on standard error; other workers get its keys
};

struct PoolOptions {
  // Settings of the pool. The process that creates the pool sets them. Later processes' values have no effect; the
  // logger is told which of them differ.

  // Accepted jobs that no handler has begun, whether or not the pool has assigned them to a worker already: 1000.
  // Beyond it a dispatch gets Errc::pool_full. Delayed jobs count from the end of their delay.
  std::uint32_t max_queued_jobs = kMaxQueuedJobsDefault;
  // Jobs whose delay is not over: 100,000. Beyond it a dispatch with a delay gets Errc::pool_full.
  std::uint32_t max_delayed_jobs = kMaxDelayedJobsDefault;
  // A start that takes longer is told to stop, and is a failed attempt: 20 s.
  std::chrono::milliseconds pending_job_ttl{kPendingJobTtlMsDefault};
  // The stop grace period: how long jobs may take to stop, also when their worker leaves: 2 min. When it is over,
  // close() and remove() return Errc::timed_out and name the keys; see on_stop_overdue.
  std::chrono::milliseconds worker_shutdown_ttl{kWorkerShutdownTtlMsDefault};
  // Attempts of a failing job before it becomes a dead letter: 10. For a resident that fails to start, an attempt means
  // that every worker has failed with it.
  std::uint32_t max_attempts = kMaxAttemptsDefault;
  // The pause before a retry: 1 s, doubling with each attempt up to 1 h, with jitter.
  std::chrono::milliseconds retry_backoff{kRetryBackoffMsDefault};
  std::chrono::milliseconds retry_backoff_max{kRetryBackoffMsMaxDefault};
  // How often a job's handler may crash its process before its quarantine: 3. Zero: no limit.
  std::uint32_t quarantine_after = kQuarantineAfterDefault;
  Assignment assignment = Assignment::rendezvous;

  // The number of shards, up to 256: each is a part of the keys with its own log, for loads beyond one log. Fixed when
  // the pool is created. Zero: as many as the pool has, or one for a new pool. Opening a pool with any other number
  // fails. max_queued_jobs applies to each shard.
  std::uint32_t shards = 0;

  // Settings of this process.

  // The lease: how long its workers live without a beat. Zero: 10 s, and 30 s on Kafka, where a broker that was killed
  // may be out of service for 20 s.
  std::chrono::milliseconds worker_ttl{0};
  std::size_t concurrency = 0;  // handlers that run at a time; zero: twice the cores, at least 4
  bool client_only = false;     // dispatches but has no workers; opens in constant time
  OnLeaseLost on_lease_lost = OnLeaseLost::end_process;
  OnStopOverdue on_stop_overdue = OnStopOverdue::keep_waiting;
  // If the log lost everything while workers of this process live, they put the pool back from memory (what that
  // brings back: docs/guarantees.md). Otherwise the pool is empty then, and an administrator can compare the log with
  // what the members remember (tenure restore --from-members).
  bool heal = true;
  ChooseWorker choose{};                       // with Assignment::chosen, on every node that has workers
  std::string node_name{};                     // for people; empty: the host's name and the process id
  std::chrono::milliseconds close_timeout{0};  // for the destructor; zero: a little more than worker_shutdown_ttl
  // Called on a thread that the pool keeps for callbacks, with no lock held. The text is one line of printable
  // characters, whatever the keys, names and errors in it contain.
  std::function<void(LogLevel, std::string_view)> logger{};

  // A small process beside this one, `tenure-guard`, that outlives it for a moment. When this process dies, it says so
  // in the log at once, on every engine, and names the job whose handler crashed it. Without it the other processes
  // wait for the lease, and no job is blamed.
  Guard guard = Guard::automatic;
  // Whether handlers for SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL and uncaught exceptions note which job caused them.
  // They are installed with the guard, once for the process, and pass on to those that were installed before. False: no
  // job of this process is blamed for a crash.
  bool note_crashes = true;
};

struct WorkerOptions {
  std::string id{};                   // unique among living workers; empty: generated
  std::uint32_t weight = 100;         // its share of the keys relative to the other workers'; up to 10000
  std::uint32_t window = 1024;        // how many tasks the pool may assign to it ahead of time
  std::string replaces{};             // the id of a leaving worker; this one inherits its keys in one move
  std::vector<std::string> serves{};  // keys that only this worker may hold
  // The jobs that the worker takes: those that match one of these. Empty: what its handler takes. All members of the
  // pool must know types (machine version 2); until they do, a worker that does not take every job waits to be added.
  std::vector<JobMatch> takes{};
  // How long to wait for the pool to accept the worker. If another worker has the id, add_worker() retries until then:
  // a process that restarts after a crash may find that its previous session has not expired yet.
  std::chrono::milliseconds join_timeout{30'000};
};

// The partitions of a pool (tenure/partition.hpp).
struct PartitionRing {
  std::uint32_t partitions = 0;
  std::uint32_t secondaries = 1;
  std::chrono::milliseconds settle{0};
  bool anyone = false;
  std::uint32_t cuts = 1;
  std::uint64_t surge = 0;
};

struct DispatchOptions {
  std::chrono::milliseconds delay{0};  // the earliest start, counted from now
  std::uint32_t max_attempts = 0;      // zero: PoolOptions::max_attempts
  // Only workers that take this type get the job; it waits for one. Up to 64 bytes. The jobs in a pool have up to 1024
  // types at a time; beyond it a dispatch of another type gets Errc::pool_full.
  std::string type{};
};

}  // namespace tenure

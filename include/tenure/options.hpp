#pragma once

// The options of pools, workers and dispatches, with their defaults.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tenure/assignment.hpp>
#include <tenure/defaults.hpp>
#include <tenure/kinds.hpp>
#include <vector>

namespace tenure {

enum class LogLevel : std::uint8_t { info, warning, error };

// What becomes of handlers that are still running when the lease runs out. Another worker may be given their keys
// at any moment from then on, and a thread cannot be ended from outside.
enum class OnLeaseLost : std::uint8_t {
  end_process,   // the process ends with exit code 75 and a line on standard error, so that no key has two holders
  keep_running,  // they go on: for programs whose every write is refused by its epoch
};

struct PoolOptions {
  // Of the pool, and the same for all its nodes: taken from whoever creates it, ignored in one that exists.
  std::uint32_t max_queued_jobs =
      kMaxQueuedJobsDefault;  // 1000 that are accepted and never started; beyond it: Errc::pool_full
  std::chrono::milliseconds pending_job_ttl{kPendingJobTtlMsDefault};  // 20 s; a start that takes longer is tried again
  std::chrono::milliseconds worker_shutdown_ttl{
      kWorkerShutdownTtlMsDefault};                                 // 2 min for jobs to stop when their worker leaves
  std::uint32_t max_attempts = kMaxAttemptsDefault;                 // 10, of a failing task, before the dead letters
  std::chrono::milliseconds retry_backoff{kRetryBackoffMsDefault};  // 1 s; doubles with each attempt, with jitter
  std::chrono::milliseconds retry_backoff_max{kRetryBackoffMsMaxDefault};  // 1 h
  std::uint32_t quarantine_after =
      kQuarantineAfterDefault;  // 3; deaths of holders that a job may cause; zero: any number
  Assignment assignment = Assignment::rendezvous;

  // How many parts the pool's keys are divided into, each with a log of its own: for more than one log can carry. Up to
  // 256. Whoever creates the pool decides it for good; zero takes what there is, or one, and any other number than what
  // there is is refused. max_queued_jobs holds for each part.
  std::uint32_t shards = 0;

  // Of this process.
  std::chrono::milliseconds worker_ttl{
      kWorkerTtlMsDefault};     // the lease, 10 s: how long its workers live without a sign
  std::size_t concurrency = 0;  // handlers that run at a time; zero: twice the cores, at least 4
  bool client_only = false;     // starts in constant time; dispatches, and has no workers
  OnLeaseLost on_lease_lost = OnLeaseLost::end_process;
  ChooseWorker choose{};                       // needed for Assignment::chosen on every node that has workers
  std::string node_name{};                     // for people; the host's name and the process id where empty
  std::chrono::milliseconds close_timeout{0};  // of the destructor; zero: worker_shutdown_ttl and a little more
  // Called on a thread of the pool's that does nothing else, with no lock held. The text is one line of printable
  // characters, whatever keys, names and errors have in them.
  std::function<void(LogLevel, std::string_view)> logger{};
};

struct WorkerOptions {
  std::string id{};                   // unique among the living; made up where empty
  std::uint32_t weight = 100;         // its share of the keys, against that of the others; up to 10000
  std::uint32_t window = 1024;        // tasks that may be handed to it ahead of time
  std::string replaces{};             // a worker that leaves, and whose keys it inherits in one move
  std::vector<std::string> serves{};  // keys that are to be held by this worker and no other
  // How long to wait for the pool to take it. An id that another worker still has is tried until then: a process that
  // was killed and came back finds its former life not yet expired.
  std::chrono::milliseconds join_timeout{30'000};
};

struct DispatchOptions {
  std::chrono::milliseconds delay{0};  // not before
  std::uint32_t max_attempts = 0;      // zero: the pool's
};

}  // namespace tenure

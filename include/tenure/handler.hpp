#pragma once

// The user's code that runs jobs. A worker calls its handler to start and stop residents and to run tasks.
//
//     class Poller : public tenure::Handler {
//       tenure::Outcome start(tenure::Job& job) override { return open(job.key(), job.epoch()); }
//       std::optional<std::string> stop(tenure::Job& job) override { return close(job.key()); }
//     };
//
// Calls for one job never overlap. Calls for different jobs run in parallel on the pool's executor threads, up to
// PoolOptions::concurrency at a time, so a handler must be thread-safe across jobs. A handler may call the pool and
// wait for tickets, with a deadline, but must not close the pool.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tenure/job.hpp>
#include <tenure/job_match.hpp>
#include <tenure/outcome.hpp>
#include <type_traits>
#include <vector>

namespace tenure {

class Handler {
 public:
  virtual ~Handler() = default;

  // Which jobs its workers take, unless WorkerOptions::takes says otherwise. Empty: every job.
  virtual std::vector<JobMatch> takes() const { return {}; }

  // Starts a resident. Job::stop_token() trips if the job is stopped meanwhile, and if this takes longer than
  // PoolOptions::pending_job_ttl; the latter counts as a failed start once this has returned. When this returns, the
  // resident counts as running until stop(), whether or not the handler keeps a thread for it. If this throws or
  // returns a failure, the start has failed:
  //   - If the resident has never run, the dispatcher gets the error and the key is free again. But if this worker has
  //     not started anything so far and another one has, the pool tries that one first.
  //   - If the resident has run before, on any worker, it keeps its key. The pool tries the other workers first, then
  //     all of them again after a pause. After max_attempts such rounds the resident becomes a dead letter. If this
  //     throws or returns NoRetry, it becomes a dead letter at once.
  // If this returns Requeue, the pool tries again later.
  virtual Outcome start(Job& job);

  // Stops a running resident. When this returns, no part of the job may still run, because the pool then starts the
  // next holder. The next holder receives the returned bytes instead of the last checkpoint. If this throws, the job
  // counts as still running: the worker keeps the key until the job calls Job::finish(), or its process ends. A job may
  // take PoolOptions::worker_shutdown_ttl to stop; what happens then says PoolOptions::on_stop_overdue.
  virtual std::optional<std::string> stop(Job& job);

  // Delivers a message to a running resident. Messages arrive in the order in which the pool accepted them. The
  // sender's ticket is done when this returns, and fails with the text if this throws. A handler that does not override
  // it takes no messages, and the sender hears that.
  virtual void notify(Job& job, std::string_view message);

  // Runs a task. If the stop token trips and the task cannot finish, return Requeue{}.
  virtual Outcome run_task(Job& job);
};

using TaskFunction = std::function<Outcome(Job&)>;

// Returns a handler that takes tasks only. `task` takes a Job& and returns nothing, a text, an Outcome, a Status or a
// Result.
std::shared_ptr<Handler> task_handler(TaskFunction task);

// Returns a handler that takes residents only, and runs each as one function on its own thread. The function should
// return soon after job.stop_token() trips; the next holder receives its return value. If it returns without a stop
// request, the job has finished by itself. If it throws, the job has failed.
using RunFunction = std::function<std::string(Job&)>;
std::shared_ptr<Handler> run_handler(RunFunction run);

namespace detail {

// Wraps functions that return nothing, so that a plain lambda can be a task.
template <class Function>
TaskFunction as_task(Function function) {
  if constexpr (std::is_void_v<std::invoke_result_t<Function&, Job&>>) {
    return [function = std::move(function)](Job& job) mutable {
      function(job);
      return Outcome();
    };
  } else {
    return [function = std::move(function)](Job& job) mutable { return Outcome(function(job)); };
  }
}

}  // namespace detail
}  // namespace tenure

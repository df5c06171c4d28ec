#pragma once

// What a worker does with the jobs it holds. Residents are started and stopped; tasks run to completion.
//
// The calls for one job come one after the other; those for different jobs come in parallel, on the pool's executor
// threads, as many at a time as PoolOptions::concurrency says. So a handler must be thread-safe across jobs. It may
// call the pool, and wait for tickets with a deadline of its own, but must not close the pool.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tenure/job.hpp>
#include <tenure/outcome.hpp>
#include <type_traits>

namespace tenure {

class Handler {
 public:
  virtual ~Handler() = default;

  // Starts a resident. Returning means that it runs; it lives on until stop(), in threads of the handler's own or in
  // none at all. Where this throws, or returns a failure, the dispatcher gets the error and the key is free again;
  // with Requeue, another try is made later.
  virtual Outcome start(Job& job);

  // Stops a resident that was started. Once this returns nothing of the job may run any more: the next holder is
  // about to be started. What it returns is handed to the next holder, in place of the last checkpoint.
  virtual std::optional<std::string> stop(Job& job);

  // A message for a resident that runs. Messages come in the order in which the pool accepted them.
  virtual void notify(Job& job, std::string_view message);

  // Runs a task. A task that is asked to stop and does not want to go on returns Requeue{}.
  virtual Outcome run_task(Job& job);
};

using TaskFunction = std::function<Outcome(Job&)>;

// A handler for tasks alone. `task` takes a Job& and returns nothing, a text, an Outcome, a Status or a Result.
std::shared_ptr<Handler> task_handler(TaskFunction task);

// A handler for residents that are one function each: it has a thread of its own from start to stop, and should
// return soon after job.stop_token() has tripped. What it returns then is handed to the next holder. If it returns
// without having been asked to, the job has finished by itself; if it throws, it has failed.
using RunFunction = std::function<std::string(Job&)>;
std::shared_ptr<Handler> run_handler(RunFunction run);

namespace detail {

// Wraps functions that return nothing, so that a plain lambda is a task.
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

#pragma once

// The threads that start and destroy a pool's workers, which may take long. The pool submits at most one job per slot,
// so there are never more jobs than workers.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tenure {

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs the job on some thread, later. May be called with a lock held. Jobs must not throw.
  virtual void run(std::function<void()> job) = 0;
};

// Thread-safe. Starts threads on demand, up to a limit, and keeps them. The destructor drops jobs that have not begun,
// and waits for the others. It must not run on one of the threads.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(std::size_t threads_max) : threads_max_(threads_max) {}
  ~ThreadExecutor() override;

  void run(std::function<void()> job) override;

 private:
  void serve();

  const std::size_t threads_max_;
  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace tenure

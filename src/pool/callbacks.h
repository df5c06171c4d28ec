#pragma once

// The thread on which users' callbacks run, one after the other and with no lock held. Tickets outlive their pool and
// may be given callbacks even then: those run where they were given.

#include <functional>
#include <memory>
#include <mutex>

#include "base/thread_loop.h"

namespace tenure {

// Thread-safe.
class Callbacks {
 public:
  Callbacks() : loop_(std::make_unique<ThreadLoop>("tenure-calls")) {}

  void post(std::function<void()> call) {
    {
      std::lock_guard lock(mutex_);
      if (loop_) {
        loop_->post(std::move(call));
        return;
      }
    }
    call();
  }

  // Whether the caller is one of the callbacks.
  bool on_thread() const {
    std::lock_guard lock(mutex_);
    return loop_ && loop_->on_loop();
  }

  // Runs what has been posted, and ends the thread. Not to be called from a callback.
  void close() {
    std::unique_ptr<ThreadLoop> loop;
    {
      std::lock_guard lock(mutex_);
      loop = std::move(loop_);
    }
    if (loop) loop->run([] {});
  }

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<ThreadLoop> loop_;  // guarded by mutex_; null once closed
};

}  // namespace tenure

#pragma once

// Wakes the one thread that uses a Source.

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace tenure::source {

// Thread-safe; one thread waits.
class Signal {
 public:
  // Ends the present wait, or the next one.
  void raise() {
    {
      const std::lock_guard lock(mutex_);
      raised_ = true;
    }
    changed_.notify_one();
  }

  // Returns once raised, or at this time.
  void wait(Instant until) {
    std::unique_lock lock(mutex_);
    const Nanos left = until - BootClock().now();
    if (left > Nanos(0)) changed_.wait_for(lock, left, [this] { return raised_; });
    raised_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;  // guarded by mutex_
};

}  // namespace tenure::source

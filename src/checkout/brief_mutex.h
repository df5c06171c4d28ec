#pragma once

// A mutex that is held for a fraction of a microsecond at a time. A thread that finds it taken spins for a moment
// before it sleeps, because a sleep and a wake-up take a hundred times longer than the mutex is usually held. If the
// holder has lost its processor, the moment passes and this is an ordinary mutex.

#include <mutex>

#include "base/cpu_relax.h"

namespace tenure {

// Thread-safe. Use it with std::lock_guard and std::unique_lock.
class BriefMutex {
 public:
  void lock() {
    // Each round waits twice as long as the one before, so that waiting threads leave the holder's cache line alone.
    for (int pauses = 1; pauses <= kPausesMax; pauses *= 2) {
      if (mutex_.try_lock()) return;
      for (int i = 0; i < pauses; ++i) cpu_relax();
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kPausesMax = 64;  // some microseconds altogether

  std::mutex mutex_;
};

}  // namespace tenure

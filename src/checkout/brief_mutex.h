#pragma once

// A mutex that is held for a fraction of a microsecond at a time. Who finds it taken looks again for a moment before
// going to sleep: to be put to sleep and woken takes a hundred times as long as the other will hold it. Where the
// holder has lost its processor the moment passes, and it is an ordinary mutex.

#include <mutex>

#include "base/cpu_relax.h"

namespace tenure {

// Thread-safe; to be used with std::lock_guard and std::unique_lock.
class BriefMutex {
 public:
  void lock() {
    // Each round waits for twice as long as the one before, so that those who wait leave the holder's cache line alone.
    for (int pauses = 1; pauses <= kPausesMax; pauses *= 2) {
      if (mutex_.try_lock()) return;
      for (int i = 0; i < pauses; ++i) cpu_relax();
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kPausesMax = 64;  // some microseconds in all

  std::mutex mutex_;
};

}  // namespace tenure

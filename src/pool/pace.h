#pragma once

// Tells whether the jobs of a host are so short that one thread runs them faster than it could wake another thread for
// help. Waking a thread takes some microseconds, and threads that take microsecond jobs from one queue mostly wait for
// each other.
//
// It looks back, and may be wrong with the next job. So its user must check every kLookEvery whether a job has begun
// since, and call note_stuck() if not. After that every job counts as long, until very many have ended.

#include <cstdint>

#include "base/clock.h"

namespace tenure {

// Guarded by its owner's lock.
class Pace {
 public:
  static constexpr Nanos kLookEvery = std::chrono::milliseconds(1);
  static constexpr Nanos kQuick = std::chrono::microseconds(3);  // average time of a job with its overhead
  static constexpr int kStretch = 16;                            // jobs that are judged together
  static constexpr std::uint64_t kWary = 1024;                   // jobs that count as slow after a stuck one

  // Jobs that a thread runs without a pause. The clock is read once per stretch, not for each job.
  struct Stretch {
    Instant began{};
    int jobs = -1;  // ended so far; -1: the first one only starts the stretch
  };

  bool brisk() const { return brisk_; }
  // How many jobs were begun so far by threads that come back for the next.
  std::uint64_t begun() const { return begun_; }

  void note_begin() { ++begun_; }

  // A job of this stretch has ended.
  void note_end(Stretch& stretch, const Clock& clock) {
    ++stretch.jobs;
    if (stretch.jobs % kStretch != 0) return;
    const Instant now = clock.now();
    if (stretch.jobs != 0) brisk_ = now - stretch.began < kStretch * kQuick && begun_ >= wary_until_;
    stretch = {now, 0};
  }

  // The stretch ends because the queue is empty. A short stretch can only show that jobs are slow.
  void note_pause(Stretch& stretch, const Clock& clock) {
    if (brisk_ && stretch.jobs > 0) brisk_ = clock.now() - stretch.began < kStretch * kQuick;
    stretch = {};
  }

  void note_stuck() {
    brisk_ = false;
    wary_until_ = begun_ + kWary;
  }

 private:
  bool brisk_ = false;
  std::uint64_t begun_ = 0;
  std::uint64_t wary_until_ = 0;
};

}  // namespace tenure

#pragma once

// Whether the jobs of a host are so quick that one thread works them off sooner than it could wake another for help.
// To wake a thread costs some microseconds, and threads that take a microsecond's job each from one queue spend their
// time waiting for each other.
//
// It is found out in retrospect, and may turn out wrong with the next job. So whoever relies on it has to have one who
// looks every kLookEvery whether anything was begun since, and says note_stuck() if not. From then on every job counts
// as one that may last, until very many have come and gone.

#include <cstdint>

#include "base/clock.h"

namespace tenure {

// Guarded by its owner's lock.
class Pace {
 public:
  static constexpr Nanos kLookEvery = std::chrono::milliseconds(1);
  static constexpr Nanos kQuick = std::chrono::microseconds(3);  // a job, on average, with what goes with it
  static constexpr int kStretch = 16;                            // so many jobs are judged together
  static constexpr std::uint64_t kWary = 1024;                   // so many count as slow after one that was

  // What a thread works off without a pause. The clock is read once in a while, not for each job.
  struct Stretch {
    Instant began{};
    int jobs = -1;  // that have ended since; the first one only begins the stretch
  };

  bool brisk() const { return brisk_; }
  // How many jobs were begun so far, by threads that come back for the next.
  std::uint64_t begun() const { return begun_; }

  void note_begin() { ++begun_; }

  // A job has ended, as part of this stretch.
  void note_end(Stretch& stretch, const Clock& clock) {
    ++stretch.jobs;
    if (stretch.jobs % kStretch != 0) return;
    const Instant now = clock.now();
    if (stretch.jobs != 0) brisk_ = now - stretch.began < kStretch * kQuick && begun_ >= wary_until_;
    stretch = {now, 0};
  }

  // The stretch ends, since there is nothing to do. One that was too short to be judged can still be seen to be slow.
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

#pragma once

// Whether who waits for an answer should look for it for a moment before going to sleep.
//
// Where the two sides run on different cores that are otherwise idle, each round trip wakes both cores, and to wake one
// takes longer than all the rest. Who looks is not to be woken. Where they share a core, looking keeps the other from
// answering. Which of the two it is depends on the scheduler, on the load and on how long the answer takes, all of
// which change; so both ways are timed, and the better is taken. The other is tried again now and then, for a few waits
// in a row, since the scheduler takes some to place the two sides anew.
//
// No I/O and no clock. One thread at a time.

#include <array>
#include <chrono>
#include <cstdint>

namespace tenure::process {

class SpinPolicy {
 public:
  using Nanos = std::chrono::nanoseconds;
  enum class Way : std::uint8_t { block, spin };

  // For how long one looks.
  static constexpr Nanos kSpan{50'000};
  // Where it takes longer than this to wait asleep, looking would not see the answer: two cores are woken within the
  // other half.
  static constexpr Nanos kBlockMax = 2 * kSpan;
  // What counts of a longer wait. It may be a processor that was not to be had, which says nothing of either way.
  static constexpr Nanos kTookMax = 4 * kSpan;
  // Waits between two trials of the other way: twice as many each time the trial changed nothing.
  static constexpr int kGapMin = 64;
  static constexpr int kGapMax = 4096;
  // Waits of a trial, and how many of these do not count.
  static constexpr int kTrial = 16;
  static constexpr int kSettling = 4;
  // A trial ends once so many of its waits were bad.
  static constexpr int kBadMax = 6;

  // `able`: there is a core to look on while the other side works on another.
  explicit SpinPolicy(bool able) : able_(able) {}

  // How to wait now. Ask once for each wait.
  Way next() const { return trial_left_ == 0 ? way_ : other(way_); }
  // How long a wait took that was done as next() had said.
  void note(Nanos took);

 private:
  static Way other(Way way) { return way == Way::block ? Way::spin : Way::block; }
  Nanos& estimate(Way way) { return estimates_[static_cast<std::size_t>(way)]; }
  void note_usual(Nanos took);
  void note_trial(Nanos took);
  void end_trial(Nanos estimate);
  bool worth_a_trial();
  bool better(Way way, Way than);

  const bool able_;
  Way way_ = Way::block;
  std::array<Nanos, 2> estimates_{};  // zero: none yet
  int since_trial_ = 0;               // waits
  int gap_ = kGapMin;
  int trial_left_ = 0;
  int trial_bad_ = 0;
  Nanos trial_sum_{0};
};

}  // namespace tenure::process

#pragma once

// Decides whether a thread that waits for an answer should spin for a moment before it sleeps.
//
// If the two sides run on different idle cores, each round trip wakes both cores, and waking a core takes longer than
// everything else. A thread that spins need not be woken. If the two sides share a core, spinning prevents the other
// side from answering. Which case it is depends on the scheduler, on the load and on the time of the answer, and all of
// these change. So both ways are timed, and the faster one is used. The other is tried again from time to time, for
// some waits in a row, because the scheduler needs some to place the two sides again.
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

  // How long to spin.
  static constexpr Nanos kSpan{50'000};
  // If sleeping takes longer than this, spinning would not see the answer: the other half is enough to wake two cores.
  static constexpr Nanos kBlockMax = 2 * kSpan;
  // A longer wait counts as this much. Its thread may have had no processor, which says nothing about either way.
  static constexpr Nanos kTookMax = 4 * kSpan;
  // Waits between two trials of the other way. Doubled each time a trial changes nothing.
  static constexpr int kGapMin = 64;
  static constexpr int kGapMax = 4096;
  // How many waits a trial has, and how many of these are not counted.
  static constexpr int kTrial = 16;
  static constexpr int kSettling = 4;
  // A trial ends after this many bad waits.
  static constexpr int kBadMax = 6;

  // `able`: there is a core to spin on while the other side works on another one.
  explicit SpinPolicy(bool able) : able_(able) {}

  // How to wait now. Call it once for each wait.
  Way next() const { return trial_left_ == 0 ? way_ : other(way_); }
  // Reports how long a wait took. The wait was done as next() had returned.
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

#pragma once

// When each act of a script is due, and when the demo ends.

#include <chrono>
#include <optional>
#include <vector>

#include "demo/demo.h"

namespace tenure::demo {

// Belongs to one thread.
class Schedule {
 public:
  // On a terminal the user plays the acts. Without a terminal and without options, all acts are played.
  Schedule(const DemoOptions& options, bool live)
      : acts_(options.script.empty() && !live ? std::vector<char>{'k', 'z', 'r', 'b'} : options.script),
        run_for_(options.run_for),
        endless_(live && !options.run_for) {}

  // The next act, once it is due. Acts are spread evenly over the time, or follow each other if no time is given.
  std::optional<char> due() {
    if (next_ == acts_.size()) return std::nullopt;
    if (run_for_ && elapsed() < *run_for_ * static_cast<int>(next_) / static_cast<int>(acts_.size())) {
      return std::nullopt;
    }
    return acts_[next_++];
  }

  // The time is up and every act has been played. The last act may take longer than the time.
  bool over() const { return !endless_ && next_ == acts_.size() && (!run_for_ || elapsed() >= *run_for_); }

 private:
  using Steady = std::chrono::steady_clock;
  Steady::duration elapsed() const { return Steady::now() - begin_; }

  const std::vector<char> acts_;
  const std::optional<std::chrono::milliseconds> run_for_;
  const bool endless_;
  const Steady::time_point begin_ = Steady::now();
  std::size_t next_ = 0;
};

}  // namespace tenure::demo

#pragma once

// When which act of a script is due, and when the demo is over.

#include <chrono>
#include <optional>
#include <vector>

#include "demo/demo.h"

namespace tenure::demo {

// Belongs to one thread.
class Schedule {
 public:
  // Whoever watches has the acts in his own hands; where nobody does, and nothing was asked for, all are played.
  Schedule(const DemoOptions& options, bool live)
      : acts_(options.script.empty() && !live ? std::vector<char>{'k', 'z', 'r'} : options.script),
        run_for_(options.run_for),
        endless_(live && !options.run_for) {}

  // The next act, once its time has come. Acts are spread evenly; without a time to fill they follow each other.
  std::optional<char> due() {
    if (next_ == acts_.size()) return std::nullopt;
    if (run_for_ && elapsed() < *run_for_ * static_cast<int>(next_) / static_cast<int>(acts_.size())) {
      return std::nullopt;
    }
    return acts_[next_++];
  }

  // The time is up, and every act has been played: the last of them may take longer than there was time.
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

#pragma once

// The ends of tasks that are reported together. A round through the log costs more than a short task. So while other
// tasks wait for a program anyway, several ends go into the log at once. Programs never wait for that: each gets its
// next task when it has answered.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "exec/dialogue.h"
#include "node/keys/host.h"

namespace tenure::exec {

constexpr std::size_t kWarmEndsMax = 64;
// The longest wait of an end. A task with others waiting behind it has usually waited longer itself.
constexpr Nanos kWarmEndWait = std::chrono::milliseconds(1);

// Belongs to the host's thread.
class WarmEnds {
 public:
  struct End {
    HeldJob job;
    Verdict verdict;
  };

  void add(HeldJob job, Verdict verdict, Instant now) {
    if (ends_.empty()) due_ = now + kWarmEndWait;
    ends_.push_back({std::move(job), std::move(verdict)});
  }
  // `waiting` tasks have no program yet. If that many ends are gathered, waiting longer could leave programs idle,
  // because the next tasks of these keys are granted only when the ends are in the log.
  bool ripe(std::size_t waiting, Instant now) const {
    return !ends_.empty() && (ends_.size() >= std::min(waiting, kWarmEndsMax) || now >= due_);
  }
  std::vector<End> take() { return std::exchange(ends_, {}); }
  bool empty() const { return ends_.empty(); }

 private:
  std::vector<End> ends_;
  Instant due_{};
};

}  // namespace tenure::exec

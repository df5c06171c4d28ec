#pragma once

// The conclusions of a host from the deaths of its guard. SIGKILL has no sender, so the guilty program is found in
// three steps:
//
//   1. After the first death all programs come back behind shields (shield.h).
//   2. A program that kills the guard above it then kills its own shield. Its job fails, and nobody else is restarted.
//   3. A program may look for the guard by its name, past its shield. But from the first death on only shields go by
//      that name, each in a session of its own.
//
// The death of a guard itself blames no job.
//
// Each further death makes the host wait longer before it starts the next guard.

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace tenure::guard {

// One thread.
class GuardDeaths {
 public:
  // How long shields stay after the last death of a guard or of a shield.
  static constexpr Nanos kMemory = std::chrono::minutes(10);
  static constexpr Nanos kDelayMin = std::chrono::milliseconds(100);
  static constexpr Nanos kDelayMax = std::chrono::seconds(5);

  void died(Instant now) {
    count_ = now < shield_until_ ? count_ + 1 : 1;
    shield_until_ = now + kMemory;
    next_start_ = now;
    if (count_ > 1) next_start_ = now + std::min(kDelayMax, kDelayMin * (1 << std::min(count_ - 2, 10)));
  }
  void shield_died(Instant now) { shield_until_ = now + kMemory; }

  Instant shield_until() const { return shield_until_; }
  // When the next guard may be started.
  Instant next_start() const { return next_start_; }

 private:
  int count_ = 0;  // within kMemory
  Instant shield_until_{};
  Instant next_start_{};
};

}  // namespace tenure::guard

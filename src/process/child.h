#pragma once

// One child process, shared by its worker and ChildProcesses.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tenure/checkout_process.hpp>

#include "base/clock.h"
#include "base/descriptor.h"
#include "guard/message.h"
#include "guard/wear.h"

namespace tenure::process {

struct Child {
  enum class Phase : std::uint8_t { starting, running, refused, ended };

  Child(std::uint64_t its_number, guard::WearLimits its_limits, std::optional<WorkerAlarm> its_alarm, Descriptor its)
      : number(its_number), limits(its_limits), alarm(std::move(its_alarm)), socket(std::move(its)) {}

  const std::uint64_t number;  // its number at the guard; never reused
  const guard::WearLimits limits;
  const std::optional<WorkerAlarm> alarm;
  const Descriptor socket;  // our end

  // When the oldest request in flight was sent (CLOCK_BOOTTIME, ns), or zero. Written by the holder.
  std::atomic<std::int64_t> busy_since{0};

  std::atomic<bool> overdue{false};  // it is being killed because a call took too long

  // Guarded by the mutex of ChildProcesses.
  Phase phase = Phase::starting;
  pid_t process = -1;
  Instant started{};
  int slot = -1;  // in the guard's lease page
  struct Refusal {
    int error_number = 0;
    guard::StartStep step{};
  };
  Refusal refusal;                 // the step that failed
  std::string why;                 // why it failed, was killed or ended; the first reason stays
  bool told = false;               // the pool knows that it is dead
  std::uint64_t memory_bytes = 0;  // at the last measurement
  bool worn_out = false;           // the pool knows that it must be replaced
};

using ChildPtr = std::shared_ptr<Child>;

}  // namespace tenure::process

#pragma once

// One child process, as its worker and ChildProcesses share it.

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

  const std::uint64_t number;  // as the guard knows it; never used again
  const guard::WearLimits limits;
  const std::optional<WorkerAlarm> alarm;
  const Descriptor socket;  // our end

  // When the oldest request under way was sent (CLOCK_BOOTTIME, ns), or zero. Written by the holder.
  std::atomic<std::int64_t> busy_since{0};

  std::atomic<bool> overdue{false};  // it is being killed for a call that took too long

  // Guarded by the mutex of ChildProcesses.
  Phase phase = Phase::starting;
  pid_t process = -1;
  Instant started{};
  int slot = -1;  // of the guard's lease page
  struct Refusal {
    int error_number = 0;
    guard::StartStep stage{};
  };
  Refusal refusal;                 // where it was refused
  std::string why;                 // it was refused, killed, or ended; the first reason stays
  bool told = false;               // the pool knows that it is dead
  std::uint64_t memory_bytes = 0;  // when it was last weighed
  bool worn_out = false;           // the pool knows that it is to be replaced
};

using ChildPtr = std::shared_ptr<Child>;

}  // namespace tenure::process

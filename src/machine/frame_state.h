#pragma once

// The state that belongs to no part of the machine: position, time, options, versions.

#include <cstdint>

#include "machine/config.h"
#include "machine/senders.h"
#include "machine/timers.h"

namespace tenure {

struct FrameState {
  std::uint64_t position = 0;
  std::uint64_t origin = 0;  // of the first entry that was applied: tells the logs of a pool apart; never zero then
  std::uint64_t digest = 0;  // a chain over every decision made so far
  std::uint32_t version = 1;
  std::int64_t engine_ms = 0;    // time of the last entry
  std::int64_t log_time_ms = 0;  // the time of timers
  std::uint64_t epoch = 0;       // the highest epoch given here, or seen by a node that joined
  std::uint64_t stamps = 0;      // the last stamp
  bool configured = false;
  bool shutting_down = false;
  bool gone = false;
  PoolConfig config;
  MachineTimers timers;
  Senders senders;
};

}  // namespace tenure

#pragma once

// Events at a moment of log time, ordered by (due, stamp). This total order is the same on every node, and on a node
// that was restored.

#include <cstdint>
#include <set>
#include <tuple>

namespace tenure {

enum class TimerKind : std::uint8_t {
  start_timeout,  // a job has been starting for too long
  retry,          // a waiting job can get a holder again
  delay,          // a delayed task becomes due
  fitness,        // a worker's starts have settled, or an unfit worker is to be tried
  settle,         // a worker may take its partition from another one
};

struct MachineTimer {
  std::int64_t due_ms;
  std::uint64_t stamp;  // must still be that of the slot (of the job for a delay, of the worker for the last two)
  TimerKind kind;
  std::uint32_t id;  // a SlotId; for a delay a JobId, for the last two a WorkerIx

  friend bool operator<(const MachineTimer& a, const MachineTimer& b) {
    return std::tie(a.due_ms, a.stamp) < std::tie(b.due_ms, b.stamp);
  }
};

using MachineTimers = std::set<MachineTimer>;

}  // namespace tenure

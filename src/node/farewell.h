#pragma once

// Watches the end of a pool that was shut down, on a node without a session in it: a member that has left, a process
// that came too late to join, or the one that ordered the shutdown.
//
//   watching ──▶ parting ──▶ over
//
// Watching: some sessions are left. A process that dies now leaves a session behind, and all members that could expire
// it may have left already. So every node that leaves keeps watching, and expires a session that has been silent for
// its whole lease. This is safe: a pool that is drained holds nothing, and in any pool the record counts only if no
// newer beat lies before it, so the holder's own deadline has passed.
//
// Parting: the machine says that the pool is gone. The log may be removed once the engine's clock has passed the
// highest epoch. The next pool under the same name starts its epochs from that clock, so its epochs are higher.

#include <cstdint>
#include <map>

#include "base/loop.h"
#include "machine/machine.h"
#include "node/appender.h"

namespace tenure {

// Belongs to the node's loop.
class Farewell {
 public:
  Farewell(Loop& loop, Appender& appender) : loop_(loop), appender_(appender), tick_(loop) {}

  void begin();
  void stop();
  bool active() const { return active_; }
  // Call it after each entry while active. Returns true when there is nothing left to wait for.
  bool look(const Machine& machine);

 private:
  // Epochs are ahead of the clock only if an engine's clock was set back. The wait for it ends after this time.
  static constexpr Nanos kPartingMax = std::chrono::seconds(10);
  // Engines count in whole milliseconds, and a new log may choose the offset of its clock anew.
  static constexpr std::int64_t kClockSlackMs = 5;

  struct Heard {
    Position beat = 0;
    Instant since;
    bool ended = false;
  };

  void watch(const Machine& machine);
  bool part(const Machine& machine);
  void tick_at(Instant when);

  Loop& loop_;
  Appender& appender_;
  bool active_ = false;
  Timer tick_;
  Instant read_at_;                       // when the last entry was applied
  std::map<std::uint64_t, Heard> heard_;  // by session
  bool parting_ = false;
  Instant parting_since_;
  std::int64_t engine_ms_ = 0;  // while parting: of the entry before
};

}  // namespace tenure

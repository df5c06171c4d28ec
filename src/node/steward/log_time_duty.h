#pragma once

// Lets log time pass if nothing else is appended: appends a tick when the machine's next timer is due, and until then
// often enough for each step of log time to count in full (kLogTimeStepMsMax). The eldest member does so at once, each
// younger one a little later, in case the older ones did not.

#include <cstddef>

#include "base/loop.h"
#include "machine/machine.h"
#include "node/appender.h"

namespace tenure {

// Belongs to the node's loop.
class LogTimeDuty {
 public:
  LogTimeDuty(Loop& loop, Appender& appender) : loop_(loop), appender_(appender), tick_(loop) {}

  // Called after each entry, on every member.
  void look(const Machine& machine, std::size_t rank, Instant applied_at);
  void stop() { tick_.cancel(); }

 private:
  Loop& loop_;
  Appender& appender_;
  Timer tick_;
};

}  // namespace tenure

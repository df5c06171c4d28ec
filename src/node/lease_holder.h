#pragma once

// The heart's view of what has to stop before a session's lease runs out.

#include <cstdint>

#include "base/clock.h"

namespace tenure {

// The heart calls from its own loop, at any time. Each call must work even if the node's loop and every handler are
// stuck. fence() may come from the node's loop, too.
class LeaseHolder {
 public:
  virtual ~LeaseHolder() = default;

  // The session's lease is valid until this moment. The first call comes before the session's first start.
  virtual void lease_until(std::uint64_t /*session*/, Instant /*until*/) {}
  // Nothing of the session runs, and nothing will be started.
  virtual void lease_over(std::uint64_t /*session*/) {}
  // The session's lease is about to run out: trip the stop tokens of all its jobs now, and of every job that is still
  // started under it.
  virtual void fence(std::uint64_t session) = 0;
  // The lease has run out: everything that still runs under the session must be ended before this returns. If
  // necessary, end the process.
  virtual void kill(std::uint64_t session) = 0;
};

}  // namespace tenure

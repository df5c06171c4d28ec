#pragma once

// What has to stop before a session's lease runs out, as the heart sees it.

#include <cstdint>

#include "base/clock.h"

namespace tenure {

// The heart calls from its own loop, at any time. Each call must take effect even if the node's loop and every handler
// are stuck. fence() may come from the node's loop, too.
class LeaseHolder {
 public:
  virtual ~LeaseHolder() = default;

  // The session's lease is sure up to this moment. The first call comes before the session's first start.
  virtual void lease_until(std::uint64_t /*session*/, Instant /*until*/) {}
  // Nothing of the session runs, and nothing of it will be started.
  virtual void lease_over(std::uint64_t /*session*/) {}
  // The session's lease is about to run out: trip the stop token of every job of that session now, and of every
  // one that is still handed over under it.
  virtual void fence(std::uint64_t session) = 0;
  // The lease has run out: whatever still runs under the session must be ended before this returns, the process
  // itself if need be.
  virtual void kill(std::uint64_t session) = 0;
};

}  // namespace tenure

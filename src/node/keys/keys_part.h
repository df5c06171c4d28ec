#pragma once

// The part of a member that runs workers and holds keys. The node's membership says when a session begins and ends.
// This part says when everything has been handed over.

#include <deque>
#include <functional>
#include <utility>

#include "machine/effects_tee.h"
#include "machine/machine.h"
#include "node/keys/own_workers.h"
#include "node/keys/runtime.h"
#include "node/replica.h"

namespace tenure {

// Belongs to the node's loop.
class KeysPart {
 public:
  struct Options {
    Nanos retry_worker_after{};
    std::uint32_t look_every = 64;  // see Runtime
  };

  KeysPart(Loop& loop, Host& host, Appender& appender, const ReplicaOf<Machine>& replica, NodeEvents& events,
           Options options);

  void listen_to(EffectsTee& tee);
  OwnWorkers& workers() { return workers_; }
  // The worker hands over what it holds, and leaves. Jobs that run on for the pool's worker_shutdown_ttl are stopped.
  void remove(BytesView worker);
  HoldReports& reports() { return runtime_; }

  // This node is a member under the session. The lease is valid until `lease_until`, in nanoseconds since boot.
  void begin(std::uint64_t session, std::function<std::int64_t()> lease_until);
  // Stops everything that runs. Calls `stopped` once nothing does.
  void fence(std::function<void()> stopped);
  // Nothing is held. Grants in flight are ignored from now on.
  void leave();
  // The session has ended in the log.
  void end();
  // The node is closing: it takes nothing new. Jobs have the pool's worker_shutdown_ttl to stop, from the next step on.
  void close();
  bool closing() const { return closing_; }
  // Called after each entry, while the node is closing or removes workers: hands over, step by step. True when nothing
  // is held.
  bool hand_over();
  bool handing_over() const { return closing_ || workers_.removing(); }

 private:
  Nanos stop_patience() const;
  void begin_closing();
  void stop_jobs_of_leaving();

  Loop& loop_;
  const ReplicaOf<Machine>& replica_;
  OwnWorkers workers_;
  Runtime runtime_;
  std::uint64_t session_ = 0;
  bool closing_ = false;
  bool drained_ = false;  // the workers were asked to drain
  Timer close_deadline_;
  std::deque<std::pair<Instant, Bytes>> leaving_;  // workers, and when the patience with them ends
  Timer leave_deadline_;
};

}  // namespace tenure

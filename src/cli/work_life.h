#pragma once

// The life of `tenure work`: its workers join the pool, run until a signal or the end of the pool, and leave. Joining
// may have to wait until somebody else gives up one of their ids. That is said at once, and the wait ends on a signal.

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/signals.h"
#include "node/node_events.h"
#include "pool/shards.h"

namespace tenure::cli {

// Collects the ids that other living workers have. Shared by the nodes of all shards.
class TakenIds final : public NodeEvents {
 public:
  void worker_refused(BytesView worker, Errc why) override;
  void worker_added(BytesView worker) override;
  // Those that were not returned since they were last added.
  std::vector<std::string> take();

 private:
  std::mutex mutex_;
  // Guarded by mutex_.
  std::set<std::string> heard_;
  std::vector<std::string> fresh_;
};

// Adds the workers, one after the other. A signal interrupts it; the workers have then left.
struct Joining {
  Status added;
  bool interrupted = false;
};
// `refuse_taken`: Errc::key_exists as soon as the worker that has an id shows that it is alive.
Joining join(Shards& pool, const std::vector<NodeWorker>& workers, TakenIds& taken, const Signals& signals,
             bool refuse_taken = false);

// Returns on a signal, when the pool is over, or when it is enough, if there is such a condition. A worker that was
// fenced has to join again, and may find its id or ordinal taken: that is said.
void wait_for_end(Shards& pool, const std::vector<NodeWorker>& workers, TakenIds& taken, const Signals& signals,
                  const std::function<bool()>& enough = {});

// Runs `close`. A signal meanwhile ends the process at once.
void close_unless_urged(const std::function<void()>& close, const Signals& signals);

// Hands the keys over. A second signal ends the process at once. If no other worker can take them, says so and waits.
void leave(Shards& pool, const std::vector<NodeWorker>& own, const Signals& signals);

}  // namespace tenure::cli

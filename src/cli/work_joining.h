#pragma once

// The start of `tenure work`: its workers join the pool, which may take as long as somebody else has one of their ids.
// That is said at once, and the wait ends on a signal.

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
  // Those that were not returned before.
  std::vector<std::string> take();

 private:
  std::mutex mutex_;
  // Guarded by mutex_.
  std::set<std::string> heard_;
  std::vector<std::string> fresh_;
};

// Adds the workers, one after the other. On a signal calls `leave`, which must close the pool.
struct Joining {
  Status added;
  bool interrupted = false;
};
Joining join(Shards& pool, const std::vector<NodeWorker>& workers, TakenIds& taken, const Signals& signals,
             const std::function<void()>& leave);

}  // namespace tenure::cli

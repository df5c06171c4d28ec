#pragma once

// What the log alone does, to compare a pool with. The comparison is with the same work: the entries that a run of the
// pool left in its log are taken down, and as many of the same sizes are appended to a fresh log in the way a node
// does it, one after the other, each answered (and so durable, as the engine's setting says) before the next, while a
// reader follows; of several shards each its own, side by side. What the pool adds is everything else: records, rules,
// tickets, hand-overs and handlers.
//
// Entries of the size at which a node cuts its batches are measured beside it: what the log could take at most from
// one node, if there were always a full batch to send.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/distribution.h"
#include "base/result.h"
#include "base/shard.h"
#include "cli/bench/place.h"
#include "log/log.h"

namespace tenure::cli {

// The entries that a run left in its log, and the tasks that were done in them.
struct RunLog {
  std::vector<std::uint32_t> entry_bytes;
  std::uint64_t bytes = 0;
  std::uint64_t tasks = 0;
};

// Takes down what a run of the pool appends to a shard's log between begin() and end(). The pool is open meanwhile.
class LogTap {
 public:
  static Result<LogTap> begin(const BenchSpot& spot, const Shard& shard);
  // Of a run so long that the log was trimmed meanwhile, the rest.
  Result<RunLog> end();

 private:
  LogTap(std::unique_ptr<Log> log, Position from) : log_(std::move(log)), from_(from) {}

  std::unique_ptr<Log> log_;
  Position from_;
};

struct Baseline {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  double per_s = 0;  // tasks, in the run's own entries
  double full_batches_bytes_per_s = 0;
  Samples hop;  // from an append to a reader in another handle

  std::string what() const;
};

// By shard.
Result<Baseline> measure_baseline(const BenchPlace& place, const std::vector<RunLog>& runs);

}  // namespace tenure::cli

#pragma once

// The speed of the log alone, to compare a pool with. It does the same work: LogTap records the entries that a run of
// the pool left in its log, and the benchmark appends as many entries of the same sizes to a fresh log in the way of a
// node. Each append is answered before the next (and so is durable, if the engine's setting says so), while a reader
// follows. Several shards have several logs, side by side. The difference to the pool is everything else: records,
// rules, tickets, handoffs between threads, and handlers.
//
// Entries of the size at which a node cuts its batches are measured too. They show what the log could take from one
// node that always has a full batch to send.

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

// The entries that a run left in its log, and the tasks that they completed.
struct RunLog {
  std::vector<std::uint32_t> entry_bytes;
  std::uint64_t bytes = 0;
  std::uint64_t tasks = 0;
};

// Records what a run of the pool appends to a shard's log between begin() and end(). The pool is open meanwhile.
class LogTap {
 public:
  static Result<LogTap> begin(const BenchSpot& spot, const Shard& shard);
  // If the log was trimmed during the run, only the rest.
  Result<RunLog> end();

 private:
  LogTap(std::unique_ptr<Log> log, Position from) : log_(std::move(log)), from_(from) {}

  std::unique_ptr<Log> log_;
  Position from_;
};

struct Baseline {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  double per_s = 0;  // tasks per second, in the entries of the run
  double full_batches_bytes_per_s = 0;
  Samples hop;  // from an append to a reader in another handle

  std::string what() const;
};

// `runs` is indexed by shard.
Result<Baseline> measure_baseline(const BenchPlace& place, const std::vector<RunLog>& runs);

}  // namespace tenure::cli

#pragma once

// Partitioned workers: one batch job that is split over several processes, each with its own part of the data.
//
//     tenure::Pool pool("transform", "redis://db");
//     tenure::PartitionedWorker worker(pool, {.partitions = 4, .ordinal = 2}, [&](const tenure::Turn& turn) {
//       return transform_some_rows(turn.partition, turn.partitions, turn.epoch, turn.stop);
//     });
//
// A pool has a fixed number of partitions, and each process an ordinal below it. Partition p belongs to the process
// with ordinal p, its primary. While that one is away, one of its secondaries holds it: the next ones on the ring of
// ordinals, of these the one with the fewest partitions. When the primary is back, it gets the partition as soon as the
// secondary has ended its turn. No partition ever has two holders. docs/partitions.md has more.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tenure/listing.hpp>
#include <tenure/pool.hpp>
#include <tenure/result.hpp>

namespace tenure {

// One call of the batch function.
struct Turn {
  std::uint32_t partition = 0;
  std::uint32_t partitions = 0;  // how many there are: the rows of a partition are those whose hash modulo this is it
  std::uint64_t epoch = 0;       // write it with your rows, and let the database refuse a smaller one
  std::chrono::steady_clock::time_point deadline{};  // a hint: return by then
  std::stop_token stop{};  // trips when the partition is to go elsewhere: end the row at hand, and return
};

// What the function reports.
struct TurnResult {
  std::uint64_t done = 0;               // rows
  std::optional<std::uint64_t> left{};  // rows that still wait, if that is known: `tenure partition status` shows it
  // How long to rest before the next turn; if it is not given, not at all if rows were done, otherwise the option's.
  std::optional<std::chrono::milliseconds> rest{};
};

// Must be thread-safe: it is called for several partitions at once, if this process holds several. If it throws, the
// pool's logger gets the error, and the next turn comes after a pause that grows up to 30 s.
using Batch = std::function<TurnResult(const Turn&)>;

struct PartitionOptions {
  // These are the pool's: the first worker brings them, and the others must name the same. See Pool::set_partitions.
  std::uint32_t partitions = 0;         // 1 to 1024
  std::uint32_t secondaries = 1;        // of each partition; below the number of partitions, so 0 if there is only one
  std::chrono::milliseconds settle{0};  // how long a primary that is back waits before it takes its partition again
  bool anyone = false;  // if neither primary nor secondary is there: any other worker may hold the partition
  // Surge: each partition is cut into `cuts` parts (2 to 64), and the batch function is called for parts: a turn's
  // `partitions` is their number. While a partition has a backlog of at least `surge`, as TurnResult::left has it for
  // its parts, idle workers that may hold it get some of its parts. Zero: no partition is cut.
  std::uint64_t surge = 0;
  std::uint32_t cuts = 1;

  std::uint32_t ordinal = 0;               // below `partitions`; unique among living workers
  std::string id{};                        // of the worker; empty: generated
  std::string replaces{};                  // the id of a leaving worker with the same ordinal
  std::chrono::milliseconds turn{60'000};  // until the deadline of each turn
  std::chrono::milliseconds rest{1'000};   // between turns, if there was nothing to do
  // If another living worker has the ordinal, this long is waited for it to go.
  std::chrono::milliseconds join_timeout{30'000};
};

// The ordinal at the end of a name like "worker-3", as the pods of a StatefulSet have them; nothing if there is none.
std::optional<std::uint32_t> ordinal_of(std::string_view name);

// The partition of a row, by the key of the row: a stable hash, for which docs/partitions.md has the same in SQL.
std::uint32_t partition_of(std::string_view key, std::uint32_t partitions);

// A worker that holds partitions. It leaves when this is destroyed; its pool must outlive it. Thread-safe.
class PartitionedWorker {
 public:
  static Result<PartitionedWorker> start(Pool& pool, PartitionOptions options, Batch batch);
  // The same, but throws BadResult if start() fails.
  PartitionedWorker(Pool& pool, PartitionOptions options, Batch batch);
  ~PartitionedWorker();
  PartitionedWorker(PartitionedWorker&&) noexcept;
  PartitionedWorker& operator=(PartitionedWorker&&) noexcept;

  const std::string& id() const;
  // Ends the turns at hand, hands the partitions over, and leaves.
  Status stop(std::chrono::nanoseconds timeout = std::chrono::minutes(3));

 private:
  struct Impl;
  explicit PartitionedWorker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure

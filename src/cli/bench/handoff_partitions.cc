#include "cli/bench/handoff_partitions.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <tenure/tenure.hpp>
#include <thread>
#include <vector>

namespace tenure::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kItem{1};
constexpr std::chrono::seconds kMovedWithin{60};

// Records who works on which partition, as the turns themselves report it.
class Turns {
 public:
  explicit Turns(std::uint32_t partitions) : partitions_(partitions) {}

  void began(const Turn& turn, std::uint32_t ordinal) {
    const std::lock_guard lock(mutex_);
    Partition& partition = partitions_[turn.partition];
    if (++partition.turns_now > 1) ++found_.double_holders;
    if (partition.epoch == turn.epoch) return;
    if (partition.epoch != 0) {
      const auto gap = steady_clock::now() - partition.ended;
      gaps_.add(gap);
      if (turn.partition == ordinal) returns_.add(gap);
      ++found_.moves;
    }
    partition.epoch = turn.epoch;
    partition.ordinal = ordinal;
    changed_.notify_all();
  }
  void ended(const Turn& turn) {
    const std::lock_guard lock(mutex_);
    Partition& partition = partitions_[turn.partition];
    --partition.turns_now;
    partition.ended = steady_clock::now();
  }

  std::uint64_t epoch(std::uint32_t partition) {
    const std::lock_guard lock(mutex_);
    return partitions_[partition].epoch;
  }
  // Until the partition is with that replica, in a tenure after `epoch`.
  Status wait(std::uint32_t partition, std::uint32_t ordinal, std::uint64_t epoch) {
    std::unique_lock lock(mutex_);
    const Partition& one = partitions_[partition];
    const bool came =
        changed_.wait_for(lock, kMovedWithin, [&] { return one.ordinal == ordinal && one.epoch > epoch; });
    if (came) return {};
    return fail(Errc::timed_out, "bench", "partition " + std::to_string(partition) + " does not come to its holder");
  }

  PartitionMoves found() {
    const std::lock_guard lock(mutex_);
    PartitionMoves found = found_;
    found.gaps = gaps_.distribution();
    found.returns = returns_.distribution();
    return found;
  }
  // What came before does not count.
  void forget() {
    const std::lock_guard lock(mutex_);
    found_.moves = 0;
    gaps_ = {};
    returns_ = {};
  }

 private:
  struct Partition {
    int turns_now = 0;
    std::uint64_t epoch = 0;
    std::uint32_t ordinal = 0;
    steady_clock::time_point ended{};
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Partition> partitions_;
  PartitionMoves found_;
  Samples gaps_;
  Samples returns_;
};

// A pool and a worker, as in a process of its own.
struct Replica {
  Pool pool;
  std::optional<PartitionedWorker> worker;
};

class Replicas {
 public:
  Replicas(const BenchSpot& spot, std::uint32_t partitions) : spot_(spot), turns_(partitions), replicas_(partitions) {}
  ~Replicas() {
    for (auto& replica : replicas_) end(replica);
  }
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  Status start_all() {
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (Status up = start(i, replicas_[i], ""); !up) return up;
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      if (Status own = turns_.wait(i, i, 0); !own) return own;
    }
    turns_.forget();
    return {};
  }

  // Ends the replica, whose neighbour stands in, and starts it again.
  Status restart(std::uint32_t ordinal) {
    const std::uint64_t epoch = turns_.epoch(ordinal);
    end(replicas_[ordinal]);
    const std::uint32_t neighbour = (ordinal + 1) % count();
    if (Status stood_in = turns_.wait(ordinal, neighbour, epoch); !stood_in) return stood_in;
    const std::uint64_t meanwhile = turns_.epoch(ordinal);
    if (Status up = start(ordinal, replicas_[ordinal], ""); !up) return up;
    return turns_.wait(ordinal, ordinal, meanwhile);
  }

  // Starts its successor, and then ends it.
  Status replace(std::uint32_t ordinal) {
    const std::uint64_t epoch = turns_.epoch(ordinal);
    std::optional<Replica> next;
    if (Status up = start(ordinal, next, replicas_[ordinal]->worker->id()); !up) return up;
    if (Status moved = turns_.wait(ordinal, ordinal, epoch); !moved) return moved;
    end(replicas_[ordinal]);
    replicas_[ordinal] = std::move(next);
    return {};
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(replicas_.size()); }
  Turns& turns() { return turns_; }

 private:
  Status start(std::uint32_t ordinal, std::optional<Replica>& replica, const std::string& replaces) {
    Result<Pool> pool = Pool::open(spot_.pool, spot_.url, {});
    if (!pool) return Failure(pool.error());
    replica = Replica{*std::move(pool), std::nullopt};
    PartitionOptions options{.partitions = count(), .ordinal = ordinal, .replaces = replaces};
    Result<PartitionedWorker> worker =
        PartitionedWorker::start(replica->pool, options, [this, ordinal](const Turn& turn) {
          turns_.began(turn, ordinal);
          std::this_thread::sleep_for(kItem);
          turns_.ended(turn);
          return TurnResult{.done = 1};
        });
    if (!worker) return Failure(worker.error());
    replica->worker = *std::move(worker);
    return {};
  }
  static void end(std::optional<Replica>& replica) {
    if (!replica) return;
    replica->worker.reset();
    replica.reset();
  }

  BenchSpot spot_;
  Turns turns_;
  std::vector<std::optional<Replica>> replicas_;
};

}  // namespace

Result<PartitionMoves> move_partitions(const BenchSpot& spot, std::uint32_t partitions, std::uint64_t rounds,
                                       bool replace) {
  Replicas replicas(spot, partitions);
  if (Status up = replicas.start_all(); !up) return Failure(up.error());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint32_t i = 0; i < partitions; ++i) {
      const Status moved = replace ? replicas.replace(i) : replicas.restart(i);
      if (!moved) return Failure(moved.error());
    }
  }
  PartitionMoves found = replicas.turns().found();
  found.moves_minimum = rounds * partitions * (replace ? 1 : 2);
  return found;
}

}  // namespace tenure::cli

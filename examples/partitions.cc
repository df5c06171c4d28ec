// A table of 2000 rows, transformed by four replicas. Each replica has a partition of the rows; while it is away, its
// neighbour transforms them, and gives the partition back at the end of a turn. Two replicas leave and come back. Every
// row is transformed once, and the table refuses a writer with an older epoch.
//
// The replicas are pools in one process here. With a file or a Redis URL they can be processes:
//
//     example_partitions sqlite:partitions.db

#include <algorithm>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tenure/tenure.hpp>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kPartitions = 4;
constexpr int kRows = 2000;

// What a database does with:
//     UPDATE rows SET done = done + 1, epoch = ?2 WHERE id = ?1 AND done = 0
// and, in the same transaction, a row for the partition that refuses an older epoch.
class Table {
 public:
  Table() {
    for (int i = 0; i < kRows; ++i) rows_.push_back({tenure::partition_of("row-" + std::to_string(i), kPartitions), 0});
  }

  tenure::TurnResult transform(const tenure::Turn& turn, const std::string& replica) {
    tenure::TurnResult result{.done = 0, .left = 0, .rest = 5ms};
    for (Row& row : rows_) {
      const std::lock_guard lock(mutex_);
      if (row.partition != turn.partition || row.done != 0) continue;
      if (result.done == 20 || turn.stop.stop_requested()) {
        ++*result.left;
        continue;
      }
      if (turn.epoch < epochs_[turn.partition]) break;  // somebody else has the partition by now
      epochs_[turn.partition] = turn.epoch;
      ++row.done;
      ++result.done;
      ++shares_[replica];
    }
    changed_.notify_all();
    return result;
  }

  // Until this many rows are done.
  bool wait(int rows) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return done() >= rows; });
  }
  bool all_once() {
    const std::lock_guard lock(mutex_);
    return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.done == 1; });
  }
  std::map<std::string, int> shares() {
    const std::lock_guard lock(mutex_);
    return shares_;
  }

 private:
  struct Row {
    std::uint32_t partition;
    int done;
  };

  int done() const {
    return static_cast<int>(std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.done != 0; }));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Row> rows_;
  std::map<std::uint32_t, std::uint64_t> epochs_;
  std::map<std::string, int> shares_;
};

class Replica {
 public:
  Replica(const std::string& url, std::uint32_t ordinal, Table& table)
      : pool_("partitions", url),
        worker_(pool_, {.partitions = kPartitions, .ordinal = ordinal}, [&table, ordinal](const tenure::Turn& turn) {
          return table.transform(turn, "replica-" + std::to_string(ordinal));
        }) {}

  tenure::Pool& pool() { return pool_; }

 private:
  tenure::Pool pool_;
  tenure::PartitionedWorker worker_;  // leaves first
};

void show(tenure::Pool& pool, const char* when) {
  std::cout << when << ":\n";
  const auto partitions = pool.partitions();
  if (!partitions) return;
  for (const tenure::PartitionInfo& info : *partitions) {
    std::cout << "  partition " << info.partition << ": "
              << (info.ordinal ? "replica " + std::to_string(*info.ordinal) : info.why)
              << (info.role == tenure::PartitionRole::secondary ? ", which stands in" : "") << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:partitions";
  Table table;
  std::vector<std::optional<Replica>> replicas(kPartitions);
  for (std::uint32_t i = 0; i < kPartitions; ++i) replicas[i].emplace(url, i, table);
  bool going = table.wait(kRows / 5);
  show(replicas[0]->pool(), "all are there");
  replicas[1].reset();
  replicas[2].reset();
  going = table.wait(kRows / 2) && going;
  show(replicas[0]->pool(), "two have left");
  for (std::uint32_t i = 1; i <= 2; ++i) replicas[i].emplace(url, i, table);
  going = table.wait(kRows) && going;
  show(replicas[0]->pool(), "they are back");
  for (const auto& [replica, rows] : table.shares()) std::cout << replica << " has transformed " << rows << " rows\n";
  const bool once = table.all_once();
  std::cout << (going && once ? "every row was transformed once\n" : "rows are missing, or were transformed twice\n");
  return going && once ? 0 : 1;
}

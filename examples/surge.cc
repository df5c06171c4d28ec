// Seven in ten rows belong to one of four partitions. First each replica transforms the rows of its own partition, and
// the one with most of the rows takes nearly three times as long as it would if the work were shared. Then surge is
// turned on: each partition is cut into four parts, and replicas that have little to do get parts of the large one,
// until it has caught up. Every row is transformed once either way.
//
// The replicas are pools in one process here. A replica does one row at a time, like a process with one processor.

#include <algorithm>
#include <array>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <tenure/tenure.hpp>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kReplicas = 4;
constexpr std::uint32_t kRows = 3'000;
constexpr auto kOneRow = 1ms;
constexpr std::uint64_t kSurge = 600;  // rows of a partition that wait

// The partition of a row. The numbers of rows are spread evenly, so they make parts within a partition.
std::uint32_t partition_of_row(std::uint32_t row) { return row % 10 < 7 ? 0 : row % 10 - 6; }

class Table {
 public:
  explicit Table(std::uint32_t parts) : waiting_(parts) {
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const std::uint32_t partition = partition_of_row(row);
      waiting_[partition + kReplicas * (row / 10 % (parts / kReplicas))].push_back(row);
    }
  }

  tenure::TurnResult transform(const tenure::Turn& turn, std::uint32_t replica) {
    tenure::TurnResult result{.done = 0, .left = 0, .rest = 5ms};
    while (result.done < 20 && !turn.stop.stop_requested() && transform_one(turn.partition, replica)) ++result.done;
    const std::lock_guard lock(mutex_);
    result.left = waiting_[turn.partition].size();
    return result;
  }

  // Until all rows are done.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] { return done_.size() == kRows; });
  }
  bool all_once() {
    const std::lock_guard lock(mutex_);
    std::sort(done_.begin(), done_.end());
    return done_.size() == kRows && std::adjacent_find(done_.begin(), done_.end()) == done_.end();
  }
  std::array<std::uint32_t, kReplicas> shares() {
    const std::lock_guard lock(mutex_);
    return shares_;
  }

 private:
  bool transform_one(std::uint32_t part, std::uint32_t replica) {
    const std::lock_guard processor(processors_[replica]);
    std::uint32_t row = 0;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_[part].empty()) return false;
      row = waiting_[part].back();
    }
    std::this_thread::sleep_for(kOneRow);
    const std::lock_guard lock(mutex_);
    waiting_[part].pop_back();  // nobody else has this part
    done_.push_back(row);
    ++shares_[replica];
    if (done_.size() == kRows) changed_.notify_all();
    return true;
  }

  std::array<std::mutex, kReplicas> processors_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::uint32_t>> waiting_;  // by part
  std::vector<std::uint32_t> done_;
  std::array<std::uint32_t, kReplicas> shares_{};
};

struct Replica {
  Replica(const std::string& url, const std::string& name, tenure::PartitionOptions options, Table& table)
      : pool(name, url), worker(pool, options, [&table, ordinal = options.ordinal](const tenure::Turn& turn) {
          return table.transform(turn, ordinal);
        }) {}

  tenure::Pool pool;
  tenure::PartitionedWorker worker;  // leaves first
};

// Transforms all rows. Returns whether each of them was transformed once, and how many rows the first replica did.
bool run(const std::string& url, bool surge, std::uint32_t& first) {
  tenure::PartitionOptions options{.partitions = kReplicas, .secondaries = kReplicas - 1};
  if (surge) {
    options.surge = kSurge;
    options.cuts = 4;
  }
  Table table(options.partitions * options.cuts);
  std::vector<std::optional<Replica>> replicas(kReplicas);
  const auto began = std::chrono::steady_clock::now();
  for (options.ordinal = 0; options.ordinal < kReplicas; ++options.ordinal) {
    replicas[options.ordinal].emplace(url, surge ? "with-surge" : "without-surge", options, table);
  }
  const bool all = table.wait();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto shares = table.shares();
  std::cout << (surge ? "with surge:    " : "without surge: ") << took.count() << " s, "
            << static_cast<int>(kRows / took.count()) << " rows/s; rows of the replicas:";
  for (const std::uint32_t rows : shares) std::cout << ' ' << rows;
  std::cout << '\n';
  first = shares[0];
  return all && table.all_once();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:surge";
  std::cout << std::fixed;
  std::cout.precision(2);
  std::uint32_t alone = 0;
  std::uint32_t helped = 0;
  const bool once = run(url, false, alone) && run(url, true, helped);
  std::cout << (once ? "every row was transformed once\n" : "rows are missing, or were transformed twice\n");
  return once && helped < alone ? 0 : 1;
}

// The library's partitioned workers: turns, handover, errors, and the hash that names a row's partition.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <tenure/partition.hpp>

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr auto kTurnPatience = 20s;

// Who processes which partition, as the batch functions see it.
class Seen {
 public:
  TurnResult turn(const std::string& who, const Turn& turn) {
    {
      const std::lock_guard lock(mutex_);
      if (!inside_.emplace(turn.partition, who).second) ++overlaps_;
      for (const auto& [partition, partitions] : numbers_) overlaps_ += partitions != turn.partitions ? 1 : 0;
      numbers_[turn.partition] = turn.partitions;
      if (turn.epoch < epochs_[turn.partition]) ++overlaps_;
      epochs_[turn.partition] = turn.epoch;
      last_[turn.partition] = who;
    }
    changed_.notify_all();
    std::this_thread::sleep_for(1ms);
    const std::lock_guard lock(mutex_);
    inside_.erase(turn.partition);
    numbers_.erase(turn.partition);
    return {.done = 1, .left = 100 + turn.partition, .rest = 1ms};
  }
  bool wait_for(const std::map<std::uint32_t, std::string>& wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTurnPatience, [&] {
      return std::all_of(wanted.begin(), wanted.end(), [&](const auto& one) { return last_[one.first] == one.second; });
    });
  }
  int overlaps() {
    const std::lock_guard lock(mutex_);
    return overlaps_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<std::uint32_t, std::string> inside_;
  std::map<std::uint32_t, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::uint64_t> epochs_;
  std::map<std::uint32_t, std::string> last_;
  int overlaps_ = 0;
};

class Partitioned : public testing::Test {
 protected:
  // Each replica has a pool of its own, as another process would.
  struct Replica {
    Pool pool;
    std::optional<PartitionedWorker> worker;
  };

  static std::string url() {
    return std::string("memory:") + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  Result<PartitionedWorker> start(Pool& pool, std::uint32_t ordinal, PartitionOptions options = {.partitions = 3}) {
    options.ordinal = ordinal;
    options.id = "w" + std::to_string(ordinal);
    return PartitionedWorker::start(pool, options,
                                    [this, id = options.id](const Turn& turn) { return seen_.turn(id, turn); });
  }
  Pool open() { return Pool("partitions", url()); }

  Seen seen_;
};

TEST_F(Partitioned, EachHasItsOwnAndASecondaryStandsInForOneThatLeaves) {
  std::array<Pool, 3> pools{open(), open(), open()};
  std::vector<PartitionedWorker> workers;
  for (std::uint32_t i = 0; i < 3; ++i) workers.push_back(start(pools[i], i).value());
  EXPECT_TRUE(seen_.wait_for({{0, "w0"}, {1, "w1"}, {2, "w2"}}));
  ASSERT_TRUE(workers[1].stop());
  EXPECT_TRUE(seen_.wait_for({{1, "w2"}}));
  const auto listed = pools[0].partitions().value();
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_EQ(listed[1].role, PartitionRole::secondary);
  EXPECT_EQ(listed[1].ordinal, 2U);
  EXPECT_EQ(listed[1].backlog, 101U);
  workers[1] = start(pools[1], 1).value();
  EXPECT_TRUE(seen_.wait_for({{1, "w1"}}));
  EXPECT_EQ(seen_.overlaps(), 0);
}

TEST_F(Partitioned, TheNumberChangesWhileTheWorkersRun) {
  std::array<Pool, 2> pools{open(), open()};
  const PartitionOptions options{.partitions = 2, .join_timeout = 200ms};
  PartitionedWorker first = start(pools[0], 0, options).value();
  PartitionedWorker second = start(pools[1], 1, options).value();
  EXPECT_TRUE(seen_.wait_for({{0, "w0"}, {1, "w1"}}));
  ASSERT_TRUE(pools[0].set_partitions({.partitions = 3, .secondaries = 2}));
  EXPECT_TRUE(seen_.wait_for({{0, "w0"}, {1, "w1"}, {2, "w0"}}));
  const PartitionRing ring = pools[1].partition_ring().value();
  EXPECT_EQ(ring.partitions, 3U);
  EXPECT_EQ(ring.secondaries, 2U);
  Pool late = open();
  const auto refused = start(late, 2, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid);
  const auto other = PartitionedWorker::start(late, {.partitions = 2, .ordinal = 1, .id = "x"},
                                              [](const Turn&) { return TurnResult(); });
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().context.find("the pool has 3 partitions with 2 secondaries each"), std::string::npos)
      << other.error().context;
  PartitionedWorker third = start(late, 2, {.partitions = 3, .secondaries = 2}).value();
  EXPECT_TRUE(seen_.wait_for({{2, "w2"}}));
  EXPECT_EQ(seen_.overlaps(), 0);
}

TEST_F(Partitioned, TwoCannotHaveOneOrdinal) {
  Pool pool = open();
  PartitionedWorker first = start(pool, 0).value();
  Pool other = open();
  const auto second =
      PartitionedWorker::start(other, {.partitions = 3, .ordinal = 0, .id = "second", .join_timeout = 300ms},
                               [](const Turn&) { return TurnResult(); });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::key_exists);
  EXPECT_NE(second.error().context.find("worker 'w0' has the ordinal 0"), std::string::npos) << second.error().context;
}

TEST_F(Partitioned, AFunctionThatThrowsIsCalledAgain) {
  std::atomic<int> turns = 0;
  std::mutex mutex;
  std::vector<std::string> lines;
  PoolOptions options;
  options.logger = [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  Pool pool("partitions", url(), options);
  std::condition_variable changed;
  PartitionedWorker worker(pool, {.partitions = 1, .secondaries = 0}, [&](const Turn&) -> TurnResult {
    if (++turns == 1) throw std::runtime_error("the database is away");
    changed.notify_all();
    return {};
  });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, kTurnPatience, [&] { return turns > 1; }));
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("partition/0: the turn failed: the database is away") != std::string::npos;
  }));
}

TEST_F(Partitioned, OptionsAreChecked) {
  Pool pool = open();
  const Batch batch = [](const Turn&) { return TurnResult(); };
  const auto code = [&](const PartitionOptions& options, const Batch& with) {
    const auto started = PartitionedWorker::start(pool, options, with);
    return started ? Errc{} : started.error().code;
  };
  EXPECT_EQ(code({.partitions = 0}, batch), Errc::invalid);
  EXPECT_EQ(code({.partitions = 1025}, batch), Errc::invalid);
  EXPECT_EQ(code({.partitions = 1}, batch), Errc::invalid) << "one partition has no secondary";
  EXPECT_EQ(code({.partitions = 3, .ordinal = 3}, batch), Errc::invalid);
  EXPECT_EQ(code({.partitions = 3, .settle = 2h}, batch), Errc::invalid);
  EXPECT_EQ(code({.partitions = 3}, nullptr), Errc::invalid);
  EXPECT_EQ(code({.partitions = 3, .turn = 0ms}, batch), Errc::invalid);
  EXPECT_TRUE(pool.partitions().value().empty());
}

TEST(PartitionHash, IsWhatItWas) {
  // Rows lie in databases by these.
  EXPECT_EQ(partition_of("", 1'000'000), 0U);
  EXPECT_EQ(partition_of("a", 1'000'000), 98U);
  EXPECT_EQ(partition_of("tenant-1", 1024), partition_of("tenant-1", 1024));
  EXPECT_EQ(partition_of("x", 1), 0U);
  EXPECT_EQ(partition_of("x", 0), 0U);
}

TEST(PartitionHash, SpreadsRows) {
  for (const std::uint32_t partitions : {2U, 3U, 4U, 8U, 10U, 16U, 64U}) {
    for (const std::string prefix : {"", "user-", "00000000-0000-0000-0000-"}) {
      std::vector<int> counts(partitions);
      const int rows = static_cast<int>(partitions) * 1000;
      for (int row = 0; row < rows; ++row) ++counts[partition_of(prefix + std::to_string(row), partitions)];
      for (const int count : counts) EXPECT_NEAR(count, 1000, 200) << partitions << " " << prefix;
    }
  }
}

TEST(PartitionHash, OrdinalsAreAtTheEndOfNames) {
  EXPECT_EQ(ordinal_of("worker-3"), 3U);
  EXPECT_EQ(ordinal_of("my-app-12"), 12U);
  EXPECT_EQ(ordinal_of("worker-0"), 0U);
  for (const char* name : {"worker", "worker-", "worker-03", "worker-x", "worker-3a", "3", "worker-99999999999", ""}) {
    EXPECT_EQ(ordinal_of(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace tenure

// The logs of a pool with several shards.

#include "log_conformance/engine.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

class LogShards : public LogConformance {
 protected:
  Result<std::unique_ptr<Log>> open_shard(std::uint32_t index, std::uint32_t count, bool read_only = false) const {
    return open_log(fresh_url(), {.pool = "sharded", .read_only = read_only, .shard = {index, count}});
  }
  // All of them, in their order.
  std::vector<std::unique_ptr<Log>> open_all(std::uint32_t count) const {
    std::vector<std::unique_ptr<Log>> logs;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto log = open_shard(i, count);
      EXPECT_TRUE(log) << log.error().message();
      if (log) logs.push_back(*std::move(log));
    }
    return logs;
  }
};

// An opener that creates nothing says so, and leaves nothing behind; where there is a log, it opens like any other.
TEST_P(LogShards, AnOpenerMayRefuseToCreate) {
  const auto try_open = [this] { return open_log(fresh_url(), {.pool = "sharded", .create = false, .shard = {0, 0}}); };
  for (int i = 0; i < 2; ++i) {
    const auto refused = try_open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::no_such_pool) << refused.error().message();
  }
  const auto made = open_log(fresh_url(), {.pool = "sharded", .shard = {0, 0}});
  ASSERT_TRUE(made) << made.error().message();
  const auto opened = try_open();
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_TRUE(append(**opened, "entry"));
}

TEST_P(LogShards, EachHasEntriesOfItsOwn) {
  const auto logs = open_all(4);
  ASSERT_EQ(logs.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(logs[i]->shards(), 4U);
    ASSERT_TRUE(append(*logs[i], "of " + std::to_string(i)));
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto run = read(*logs[i], {});
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_EQ(run->size(), 1U);
    EXPECT_EQ(run->front().data, "of " + std::to_string(i));
  }
}

TEST_P(LogShards, WhoDoesNotKnowTheirNumberIsTold) {
  const auto logs = open_all(3);
  ASSERT_EQ(logs.size(), 3U);
  for (const bool read_only : {false, true}) {
    const auto log = open_shard(0, 0, read_only);
    ASSERT_TRUE(log) << log.error().message();
    EXPECT_EQ((*log)->shards(), 3U);
  }
}

TEST_P(LogShards, WhoBelievesInAnotherNumberIsRefused) {
  const auto logs = open_all(4);
  ASSERT_EQ(logs.size(), 4U);
  for (const std::uint32_t count : {1U, 2U, 8U}) {
    const auto log = open_shard(0, count);
    ASSERT_FALSE(log) << count;
    EXPECT_EQ(log.error().code, Errc::refused);
    EXPECT_NE(log.error().message().find("shards=4"), std::string::npos) << log.error().message();
  }
  const auto log = open_shard(1, 2);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Errc::refused);
}

TEST_P(LogShards, APoolThatSaysNothingOfShardsHasOne) {
  const auto whole = open_shard(0, 0);
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ((*whole)->shards(), 1U);
  const auto log = open_shard(0, 4);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Errc::refused);
}

TEST_P(LogShards, OneThatIsRemovedLeavesTheOthers) {
  const auto logs = open_all(2);
  ASSERT_EQ(logs.size(), 2U);
  ASSERT_TRUE(append(*logs[0], "stays"));
  ASSERT_TRUE(append(*logs[1], "goes"));
  ASSERT_TRUE(remove(*logs[1]));
  const auto run = read(*logs[0], {});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "stays");
}

// A handle that accepted any number creates the new log with the number that it found.
TEST_P(LogShards, AnewItIsAsItWas) {
  const auto first = open_shard(0, 3);
  const auto second = open_shard(0, 0);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(remove(**first));
  ASSERT_TRUE(load_snapshot(**second));
  const auto third = open_shard(0, 0);
  ASSERT_TRUE(third) << third.error().message();
  EXPECT_EQ((*third)->shards(), 3U);
}

TEST_P(LogShards, ThereIsABoundAndAnOrder) {
  for (const auto& [index, count] : {std::pair(0U, kShardsMax + 1), {4U, 4U}, {1U, 0U}, {7U, 2U}}) {
    const auto log = open_shard(index, count);
    ASSERT_FALSE(log) << index << " of " << count;
    EXPECT_EQ(log.error().code, Errc::invalid);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, LogShards, testing::ValuesIn(test_engines()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tenure::conformance

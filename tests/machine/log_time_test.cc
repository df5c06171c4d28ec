// Log time is the engine's time in bounded steps, so a jump does not fire timers that were not due.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

TEST(LogTime, BeginsWithTheFirstEntry) {
  TestPool pool;
  pool.append(rec::tick());
  EXPECT_EQ(pool.machine().log_time_ms(), 0);
  pool.jump(120);
  pool.append(rec::tick());
  EXPECT_EQ(pool.machine().log_time_ms(), 120);
}

TEST(LogTime, AStepCountsForABoundedTime) {
  TestPool pool;
  pool.append(rec::tick());
  pool.jump(3'600'000);
  pool.append(rec::tick());
  EXPECT_EQ(pool.machine().log_time_ms(), kLogTimeStepMsMax);
  pool.jump(100);
  pool.append(rec::tick());
  EXPECT_EQ(pool.machine().log_time_ms(), kLogTimeStepMsMax + 100);
}

TEST(LogTime, NeverGoesBack) {
  TestPool pool;
  pool.append(rec::tick());
  pool.jump(1'000);
  pool.append(rec::tick());
  pool.jump(-500'000);
  pool.append(rec::tick());
  EXPECT_EQ(pool.machine().log_time_ms(), 1'000);
  pool.jump(500'200);
  pool.append(rec::tick());
  EXPECT_EQ(pool.machine().log_time_ms(), 1'200);
}

// An engine that was away for an hour: nobody is timed out, nobody is retried early, nothing is blamed.
TEST(LogTime, AJumpOfAnHourFiresNothingThatIsNotDue) {
  TestPool pool;
  pool.node("a");
  pool.resident("starting");
  pool.task("retry", {.max_attempts = 20});
  for (int i = 0; i < 5; ++i) {
    pool.failed("retry");
    pool.pass(20'000);
  }
  pool.started("starting");
  pool.failed("retry");
  pool.resident("start2");
  pool.task("later", {.delay_ms = 3'000'000});
  const std::size_t grants = pool.history().grants.size();
  pool.jump(3'600'000);
  pool.append(rec::tick());
  EXPECT_TRUE(pool.seen().lines.empty());
  EXPECT_EQ(pool.history().grants.size(), grants);
  EXPECT_TRUE(pool.alive(pool.session_of("a")));
}

TEST(LogTime, TimersFireInPortionsAndAllOfThem) {
  TestPool pool;
  v1::Configure options;
  options.set_max_queued_jobs(100'000);
  pool.append(rec::configure(options));
  TestPool::Records dispatches;
  const std::uint64_t count = kTimersPerEntryMax + 100;
  for (std::uint64_t i = 1; i <= count; ++i) {
    dispatches.push_back(rec::dispatch(i, v1::TASK, "k" + std::to_string(i), {.delay_ms = 10}));
  }
  pool.append(dispatches);
  pool.append({rec::join(1), rec::add_worker(1, "a", {.window = kWindowMax})});
  pool.pass(10);
  EXPECT_EQ(pool.seen().grants.size(), kTimersPerEntryMax);
  pool.append(rec::tick());
  EXPECT_EQ(pool.seen().grants.size(), 100U);
}

// Epochs start from the engine's time, so they stay above those of a lost log.
TEST(LogTime, EpochsFollowTheEnginesClockAcrossLogs) {
  TestPool old_pool;
  old_pool.node("a");
  old_pool.running("k");
  TestPool new_pool;
  new_pool.jump(1);
  new_pool.node("a");
  new_pool.running("k");
  EXPECT_GT(new_pool.epoch("k"), old_pool.epoch("k"));
}

TEST(LogTime, ATimeFromTheEdgeOfTheRangeBreaksNothing) {
  for (const std::int64_t time_ms : {INT64_MAX, INT64_MIN, std::int64_t{0}, std::int64_t{-1}}) {
    Machine machine;
    Recorder recorder;
    const Bytes first = batch_bytes(1, 1, {rec::join(1), rec::add_worker(1, "a")});
    const Bytes second = batch_bytes(1, 2, {rec::dispatch(1, v1::TASK, "k"), rec::dispatch(2, v1::TASK, "l")});
    machine.apply({1, 1'000, first}, recorder);
    machine.apply({2, time_ms, second}, recorder);
    ASSERT_EQ(recorder.grants.size(), 2U);
    EXPECT_GT(recorder.grants[0].tenure.epoch, 0U);
    EXPECT_GT(recorder.grants[1].tenure.epoch, recorder.grants[0].tenure.epoch);
    EXPECT_LE(machine.log_time_ms(), kLogTimeStepMsMax);
  }
}

}  // namespace
}  // namespace tenure::test

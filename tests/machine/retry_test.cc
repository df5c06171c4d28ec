// Failing jobs: retried with growing delays, requeued without counting, dropped, or buried.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "machine/pool.h"

namespace tenure::test {
namespace {

// Lets time pass until the key has a holder again, and says how long that took.
std::int64_t wait_for_grant(TestPool& pool, BytesView key) {
  const std::int64_t before = pool.machine().log_time_ms();
  while (pool.holder(key).empty()) {
    const auto due = pool.machine().next_due_ms();
    if (!due) return -1;
    pool.pass(std::max<std::int64_t>(*due - pool.machine().log_time_ms(), 1));
  }
  return pool.machine().log_time_ms() - before;
}

TEST(Retry, GapsDoubleUpToTheCapWithJitterUpToAHalf) {
  TestPool pool;
  v1::Configure options;
  options.set_backoff_base_ms(1'000);
  options.set_backoff_cap_ms(6'000);
  pool.append(rec::configure(options));
  pool.node("a");
  const std::uint64_t ticket = pool.task("k");
  std::int64_t span = 1'000;
  for (std::uint32_t attempt = 1; attempt < 8; ++attempt) {
    EXPECT_EQ(pool.info("k")->attempt, attempt);
    pool.failed("k");
    EXPECT_EQ(pool.state("k"), JobState::waiting);
    const std::int64_t gap = wait_for_grant(pool, "k");
    EXPECT_GE(gap, span / 2);
    EXPECT_LE(gap, span);
    span = std::min<std::int64_t>(span * 2, 6'000);
  }
  pool.done("k");
  EXPECT_EQ(pool.outcomes(ticket), (std::vector{TicketState::accepted, TicketState::done}))
      << "the dispatcher is not told of attempts";
}

TEST(Retry, GapsOfJobsThatFailTogetherDiffer) {
  TestPool pool;
  pool.node("a");
  TestPool::Records failures;
  for (int i = 0; i < 20; ++i) pool.task("k" + std::to_string(i));
  for (int i = 0; i < 20; ++i)
    failures.push_back(rec::failed("k" + std::to_string(i), pool.epoch("k" + std::to_string(i))));
  pool.append(failures);
  std::set<std::int64_t> dues;
  const Image image = image_of(pool.machine());
  for (const v1::TimerState& timer : image.global.frame().timers()) dues.insert(timer.due_ms());
  EXPECT_GT(dues.size(), 10U);
}

TEST(Retry, AfterMaxAttemptsTheTaskIsBuriedAndItsDispatcherTold) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t ticket = pool.task("k", {.payload = "p", .max_attempts = 2});
  pool.failed("k");
  wait_for_grant(pool, "k");
  pool.failed("k");
  EXPECT_EQ(pool.outcome(ticket), TicketState::failed);
  EXPECT_EQ(pool.seen().settlements.back().text, "it broke");
  ASSERT_EQ(pool.seen().burials.size(), 1U);
  EXPECT_FALSE(pool.seen().burials[0].quarantined);
  EXPECT_FALSE(pool.info("k")) << "a dead task does not hold its key";
  ASSERT_EQ(pool.machine().dead().size(), 1U);
  EXPECT_EQ(pool.machine().dead_payload(pool.machine().dead().begin()->second), "p");
}

TEST(Retry, WithoutALimitOfItsOwnAJobHasThePools) {
  TestPool pool;
  v1::Configure options;
  options.set_max_attempts(1);
  pool.append(rec::configure(options));
  pool.node("a");
  pool.task("k");
  pool.failed("k");
  EXPECT_EQ(pool.machine().dead().size(), 1U);
}

TEST(Retry, ARequeueDoesNotCount) {
  TestPool pool;
  pool.node("a");
  pool.task("k", {.max_attempts = 1});
  for (int i = 0; i < 5; ++i) {
    pool.failed("k", v1::Failed::REQUEUE, 700);
    EXPECT_EQ(wait_for_grant(pool, "k"), 700);
    EXPECT_EQ(pool.info("k")->attempt, 1U);
  }
  pool.failed("k", v1::Failed::REQUEUE, 0);
  EXPECT_EQ(pool.state("k"), JobState::waiting);
  pool.append(rec::tick());
  EXPECT_EQ(pool.state("k"), JobState::running);
}

TEST(Retry, ADelayOutOfBoundsIsCut) {
  TestPool pool;
  pool.node("a");
  pool.task("k");
  pool.failed("k", v1::Failed::REQUEUE, UINT64_MAX);
  EXPECT_EQ(*pool.machine().next_due_ms(), pool.machine().log_time_ms() + static_cast<std::int64_t>(kDelayMsMax));
}

TEST(Retry, ADroppedStartFreesTheKeyAndTellsTheDispatcher) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t ticket = pool.resident("k");
  pool.failed("k", v1::Failed::DROP);
  EXPECT_EQ(pool.outcome(ticket), TicketState::failed);
  EXPECT_FALSE(pool.info("k"));
  EXPECT_TRUE(pool.machine().dead().empty());
  EXPECT_EQ(pool.outcome(pool.resident("k")), TicketState::accepted);
}

TEST(Retry, TheNextTaskOfTheKeyWaitsForTheRetries) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t first = pool.task("k", {.max_attempts = 2});
  const std::uint64_t second = pool.task("k");
  pool.failed("k");
  EXPECT_EQ(pool.info("k")->ticket, first);
  wait_for_grant(pool, "k");
  EXPECT_EQ(pool.info("k")->ticket, first);
  pool.failed("k");
  EXPECT_EQ(pool.info("k")->ticket, second);
  EXPECT_EQ(pool.state("k"), JobState::running);
}

TEST(Retry, AnErrorTooLongIsCut) {
  TestPool pool;
  pool.node("a");
  pool.task("k");
  pool.append(rec::failed("k", pool.epoch("k"), v1::Failed::BURY, Bytes(kErrorBytesMax + 1, 'e')));
  EXPECT_EQ(pool.machine().dead().begin()->second.error.size(), kErrorBytesMax);
}

// The retry comes due while no worker is there: it waits, as everything does.
TEST(Retry, ARetryWithoutAWorkerWaitsForOne) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  pool.task("k");
  pool.failed("k");
  pool.leave(session);
  pool.pass(5'000);
  EXPECT_EQ(pool.state("k"), JobState::queued);
  pool.node("b");
  EXPECT_EQ(pool.holder("k"), "b");
  EXPECT_EQ(pool.info("k")->attempt, 2U);
}

}  // namespace
}  // namespace tenure::test

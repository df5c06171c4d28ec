// Shutdown: new jobs are refused, accepted ones are processed, and the pool is gone when its last member leaves.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

TEST(Shutdown, NewJobsAreRefused) {
  TestPool pool;
  pool.node("a");
  pool.append(rec::shutdown());
  EXPECT_EQ(pool.refusal(pool.task("k")), Errc::shutting_down);
  EXPECT_EQ(pool.refusal(pool.resident("k")), Errc::shutting_down);
  pool.append(rec::shutdown());
  EXPECT_EQ(pool.refused(), 3U);
}

TEST(Shutdown, TasksAcceptedBeforeItAreStillDone) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  const std::uint64_t runs = pool.task("k");
  const std::uint64_t waits = pool.task("k");
  pool.append(rec::shutdown());
  pool.done("k");
  EXPECT_EQ(pool.outcome(runs), TicketState::done);
  EXPECT_FALSE(pool.machine().drained());
  pool.done("k");
  EXPECT_EQ(pool.outcome(waits), TicketState::done);
  EXPECT_TRUE(pool.machine().drained());
  EXPECT_EQ(pool.history().drained, 1);
  EXPECT_EQ(pool.seen().gone, 0);
  pool.leave(session);
  EXPECT_EQ(pool.seen().gone, 1);
  EXPECT_EQ(pool.history().drained, 1);
  EXPECT_TRUE(pool.machine().gone());
}

TEST(Shutdown, DelayedAndRetriedTasksRunAtOnceInTheirOrder) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t first = pool.task("k", {.delay_ms = 60'000});
  const std::uint64_t second = pool.task("k", {.delay_ms = 120'000});
  const std::uint64_t third = pool.task("k", {.delay_ms = 120'000});
  pool.task("failed");
  pool.failed("failed");
  pool.append(rec::shutdown());
  EXPECT_EQ(pool.state("failed"), JobState::running);
  std::vector<std::uint64_t> order;
  while (pool.info("k")) {
    order.push_back(pool.info("k")->ticket);
    pool.done("k");
  }
  EXPECT_EQ(order, (std::vector{first, second, third}));
  pool.done("failed");
  EXPECT_TRUE(pool.machine().drained());
  EXPECT_FALSE(pool.machine().next_due_ms());
}

TEST(Shutdown, ResidentsAreStopped) {
  TestPool pool;
  pool.node("a");
  pool.running("runs");
  pool.resident("starts");
  pool.append(rec::shutdown());
  ASSERT_EQ(pool.seen().stops.size(), 2U) << "also the one that is starting";
  for (const auto& stop : pool.seen().stops) EXPECT_EQ(stop.why, StopReason::shutdown);
  pool.released("runs");
  pool.released("starts");
  EXPECT_TRUE(pool.machine().drained());
}

TEST(Shutdown, AResidentThatMovesIsNotStartedAgain) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.append(rec::drain("a"));
  pool.node("b");
  pool.append(rec::shutdown());
  pool.released("k");
  EXPECT_TRUE(pool.seen().grants.empty());
  EXPECT_TRUE(pool.machine().drained());
}

TEST(Shutdown, AHolderThatDiesInItLeavesNothingRunning) {
  TestPool pool;
  const std::uint64_t first = pool.node("a");
  pool.running("r");
  const std::uint64_t task = pool.task("t");
  pool.append(rec::shutdown());
  pool.crash(first);
  EXPECT_FALSE(pool.info("r"));
  EXPECT_EQ(pool.state("t"), JobState::queued);
  EXPECT_FALSE(pool.machine().gone()) << "a task is still to be done";
  const std::uint64_t second = pool.node("b");
  pool.done("t");
  EXPECT_EQ(pool.outcome(task), TicketState::done);
  pool.leave(second);
  EXPECT_TRUE(pool.machine().gone());
}

TEST(Shutdown, WhatIsDeadDoesNotHoldItUp) {
  TestPool pool;
  pool.node("a");
  pool.running("r");
  pool.failed("r", v1::Failed::BURY);
  pool.task("t");
  pool.failed("t", v1::Failed::BURY);
  pool.append(rec::shutdown());
  EXPECT_TRUE(pool.machine().drained());
  EXPECT_TRUE(pool.machine().dead().empty());
  pool.leave(pool.session_of("a"));
  EXPECT_TRUE(pool.machine().gone());
}

TEST(Shutdown, AJobThatDiesInItDoesNotHoldItUp) {
  TestPool pool;
  pool.node("a");
  pool.resident("r");
  pool.task("t");
  pool.append(rec::shutdown());
  pool.failed("r", v1::Failed::BURY);
  pool.failed("t", v1::Failed::BURY);
  EXPECT_TRUE(pool.machine().drained());
  EXPECT_EQ(pool.refusal(pool.retry_dead(2)),
            pool.machine().dead().contains(2) ? Errc::shutting_down : Errc::no_such_key);
}

TEST(Shutdown, AnEmptyPoolWithoutMembersIsGoneAtOnce) {
  TestPool pool;
  pool.append(rec::shutdown());
  EXPECT_TRUE(pool.machine().gone());
  EXPECT_EQ(pool.seen().gone, 1);
  pool.join();
  EXPECT_TRUE(pool.machine().sessions().all.empty());
  EXPECT_EQ(pool.refused(), 1U);
}

TEST(Shutdown, MembersMayJoinToFinishIt) {
  TestPool pool;
  pool.task("k");
  const std::uint64_t resident = pool.resident("r");
  pool.append(rec::shutdown());
  EXPECT_EQ(pool.outcome(resident), TicketState::stopped) << "it will not be started any more";
  EXPECT_FALSE(pool.machine().gone());
  const std::uint64_t session = pool.node("a");
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"k"});
  pool.done("k");
  pool.leave(session);
  EXPECT_TRUE(pool.machine().gone());
}

// Residents without a holder are not started first, to be stopped then: with nothing else in it the pool is gone.
TEST(Shutdown, ResidentsThatNobodyHoldsAreDropped) {
  TestPool pool;
  const std::uint64_t queued = pool.resident("queued");
  const std::uint64_t delayed = pool.resident("delayed", {.delay_ms = 60'000});
  const std::uint64_t stop = pool.stop("delayed");
  pool.append(rec::shutdown());
  EXPECT_EQ(pool.outcome(queued), TicketState::stopped);
  EXPECT_EQ(pool.outcome(delayed), TicketState::stopped);
  EXPECT_EQ(pool.outcome(stop), TicketState::stopped);
  EXPECT_EQ(pool.machine().queued(), 0U);
  EXPECT_TRUE(pool.machine().gone());
}

// Workers that were asked to take no more keys finish what was accepted, if no others are left; but not those that are
// about to leave.
TEST(Shutdown, DrainedWorkersDoTheTasksThatAreLeft) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t leaves = pool.node("b");
  pool.append({rec::drain("a"), rec::drain("b", true)});
  pool.task("k");
  pool.task("l");
  EXPECT_TRUE(pool.seen().grants.empty());
  pool.append(rec::shutdown());
  EXPECT_EQ(pool.holder("k"), "a");
  EXPECT_EQ(pool.holder("l"), "a");
  pool.append(rec::drain("a"));
  pool.task("late");
  pool.done("k");
  pool.done("l");
  EXPECT_TRUE(pool.machine().drained());
  pool.leave(leaves);
  pool.leave(pool.session_of("a"));
  EXPECT_TRUE(pool.machine().gone());
}

TEST(Shutdown, TheLastOpenWorkersEndOpensTheDrainedOnes) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t open = pool.node("b");
  pool.append(rec::drain("a"));
  const std::uint64_t task = pool.task("k");
  pool.append(rec::shutdown());
  EXPECT_EQ(pool.holder("k"), "b");
  pool.crash(open);
  EXPECT_EQ(pool.holder("k"), "a");
  pool.append(rec::drain("a", true));
  EXPECT_FALSE(pool.machine().workers()[pool.machine().workers().find("a")].open());
  pool.append(rec::drain("a", true));
  EXPECT_EQ(pool.refused(), 1U);
  pool.done("k");
  EXPECT_EQ(pool.outcome(task), TicketState::done);
}

TEST(Shutdown, DrainedWorkersDoTheTasksThatTheOpenOnesDoNotTake) {
  TestPool pool;
  pool.node("a");
  pool.append(rec::drain("a"));
  pool.node("b", {.takes = rec::takes_of({"resident", "task:other"})});
  const std::uint64_t task = pool.task("k");
  EXPECT_EQ(pool.holder("k"), "");
  pool.append(rec::shutdown());
  EXPECT_EQ(pool.holder("k"), "a");
  pool.done("k");
  EXPECT_EQ(pool.outcome(task), TicketState::done);
}

// Where there is nothing to wait for but the task itself.
TEST(Shutdown, ATaskIsTriedAgainSoonAndNotForEver) {
  TestPool pool;
  v1::Configure options;
  options.set_max_attempts(3);
  options.set_backoff_base_ms(60'000);
  options.set_backoff_cap_ms(60'000);
  pool.append(rec::configure(options));
  pool.node("a");
  pool.task("k");
  pool.append(rec::shutdown());
  for (int attempt = 0; attempt < 2; ++attempt) {
    pool.failed("k", v1::Failed::REQUEUE, 3'600'000);
    EXPECT_EQ(pool.state("k"), JobState::waiting);
    pool.pass(kShutdownPauseMsMax);
    EXPECT_EQ(pool.state("k"), JobState::running);
  }
  pool.failed("k", v1::Failed::REQUEUE);
  EXPECT_TRUE(pool.machine().drained());
}

}  // namespace
}  // namespace tenure::test

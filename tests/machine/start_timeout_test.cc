// Starts that take longer than a pending job may.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

// Another try is made after a pause, and at the limit the job is buried with the reason.
TEST(StartTimeout, IsAnAttempt) {
  TestPool pool;
  v1::Configure options;
  options.set_max_attempts(2);
  options.set_backoff_base_ms(500);
  pool.append(rec::configure(options));
  pool.node("a");
  const std::uint64_t job = pool.resident("k");
  const std::uint64_t epoch = pool.epoch("k");
  pool.pass(pool.machine().config().pending_job_ttl_ms - 1);
  EXPECT_TRUE(pool.seen().stops.empty());
  pool.pass(1);
  ASSERT_EQ(pool.seen().stops.size(), 1U);
  EXPECT_EQ(pool.seen().stops[0].why, StopReason::start_timeout);
  EXPECT_TRUE(pool.seen().grants.empty()) << "only a release lets the key be granted again";
  pool.append(rec::started("k", epoch));
  EXPECT_EQ(pool.refused(), 1U) << "it comes too late";
  pool.released("k");
  EXPECT_EQ(pool.seen().ends.at(0).why, TenureEnd::failed);
  EXPECT_EQ(pool.state("k"), JobState::waiting);
  pool.pass(500);
  EXPECT_GT(pool.epoch("k"), epoch);
  EXPECT_EQ(pool.state("k"), JobState::starting);
  EXPECT_EQ(pool.info("k")->attempt, 2U);
  pool.pass(pool.machine().config().pending_job_ttl_ms);
  pool.released("k");
  EXPECT_EQ(pool.state("k"), JobState::dead);
  EXPECT_EQ(pool.machine().dead().begin()->second.error, "start timed out after 20 s");
  EXPECT_EQ(pool.outcome(job), TicketState::failed);
}

// A handover during the time-out of a start is not one of a job that ran: the holder's death is not an attempt.
TEST(StartTimeout, AHolderThatDiesMeanwhileHasNotFailed) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  pool.resident("k");
  pool.pass(pool.machine().config().pending_job_ttl_ms);
  EXPECT_EQ(pool.state("k"), JobState::moving);
  pool.crash(session);
  EXPECT_EQ(pool.state("k"), JobState::queued);
  EXPECT_EQ(pool.info("k")->attempt, 1U);
}

TEST(StartTimeout, AStartInTimeIsNone) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.pass(pool.machine().config().pending_job_ttl_ms * 2);
  EXPECT_TRUE(pool.seen().stops.empty());
}

}  // namespace
}  // namespace tenure::test

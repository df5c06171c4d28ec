// Dead letters can be listed, retried and dropped.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

std::uint64_t bury(TestPool& pool, BytesView key) {
  pool.failed(key, v1::Failed::BURY);
  return pool.seen().burials.at(0).id;
}

TEST(DeadLetters, ALetterSaysWhatDiedWhenAndWhy) {
  TestPool pool;
  pool.node("a");
  pool.task("k", {.payload = "p"});
  const std::uint64_t epoch = pool.epoch("k");
  pool.pass(500);
  const std::uint64_t id = bury(pool, "k");
  const DeadLetter& letter = pool.machine().dead().at(id);
  EXPECT_EQ(letter.key, "k");
  EXPECT_EQ(letter.kind, JobKind::task);
  EXPECT_EQ(letter.epoch, epoch);
  EXPECT_EQ(letter.error, "it broke");
  EXPECT_EQ(letter.since_ms, pool.machine().log_time_ms());
  EXPECT_FALSE(letter.quarantined);
}

TEST(DeadLetters, ARetriedTaskStartsAfreshBehindWhatItsKeyHas) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t dead = pool.task("k", {.payload = "p", .max_attempts = 1});
  pool.failed("k");
  const std::uint64_t id = pool.seen().burials.at(0).id;
  const std::uint64_t other = pool.task("k");
  EXPECT_EQ(pool.outcome(pool.retry_dead(id)), TicketState::accepted);
  EXPECT_EQ(pool.info("k")->ticket, other);
  pool.done("k");
  EXPECT_EQ(pool.info("k")->ticket, dead);
  EXPECT_EQ(pool.info("k")->attempt, 1U);
  EXPECT_EQ(pool.info("k")->payload, "p");
  EXPECT_TRUE(pool.machine().dead().empty());
  pool.done("k");
  EXPECT_EQ(pool.outcome(dead), TicketState::done);
}

TEST(DeadLetters, ARetriedTaskWhoseKeyIsGoneGetsItBack) {
  TestPool pool;
  pool.node("a");
  pool.task("k");
  const std::uint64_t id = bury(pool, "k");
  EXPECT_FALSE(pool.info("k"));
  pool.retry_dead(id);
  EXPECT_EQ(pool.holder("k"), "a");
}

// A task's key may since have become a resident's: the letter stays until the key is free again.
TEST(DeadLetters, ATaskWhoseKeyIsNowAResidentsIsNotRetried) {
  TestPool pool;
  pool.node("a");
  pool.task("k");
  const std::uint64_t id = bury(pool, "k");
  pool.running("k");
  EXPECT_EQ(pool.refusal(pool.retry_dead(id)), Errc::key_exists);
  EXPECT_EQ(pool.machine().dead().size(), 1U);
  pool.done("k");
  EXPECT_EQ(pool.outcome(pool.retry_dead(id)), TicketState::accepted);
}

TEST(DeadLetters, ADeadResidentKeepsItsKeyAndIsRetriedInPlace) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t ticket = pool.running("k");
  const std::uint64_t id = bury(pool, "k");
  EXPECT_EQ(pool.outcome(ticket), TicketState::failed);
  EXPECT_EQ(pool.state("k"), JobState::dead);
  EXPECT_EQ(pool.refusal(pool.resident("k")), Errc::key_exists);
  pool.retry_dead(id);
  EXPECT_EQ(pool.state("k"), JobState::starting);
  EXPECT_TRUE(pool.machine().dead().empty());
}

TEST(DeadLetters, DroppedOnesAreGone) {
  TestPool pool;
  pool.node("a");
  pool.task("t");
  const std::uint64_t task = bury(pool, "t");
  pool.running("r");
  const std::uint64_t resident = bury(pool, "r");
  EXPECT_EQ(pool.outcome(pool.drop_dead(task)), TicketState::accepted);
  EXPECT_EQ(pool.outcome(pool.drop_dead(resident)), TicketState::accepted);
  EXPECT_TRUE(pool.machine().dead().empty());
  EXPECT_EQ(pool.machine().keys(), 0U);
  EXPECT_EQ(pool.refusal(pool.drop_dead(task)), Errc::no_such_key);
  EXPECT_EQ(pool.refusal(pool.retry_dead(resident)), Errc::no_such_key);
}

TEST(DeadLetters, DeadTasksAreBoundedAndTheOldestGoesFirst) {
  TestPool pool;
  pool.node("a");
  v1::Configure options;
  options.set_max_queued_jobs(100'000);
  pool.append(rec::configure(options));
  pool.running("resident");
  const std::uint64_t kept = bury(pool, "resident");
  TestPool::Records dispatches;
  for (std::size_t i = 0; i <= kDeadTasksMax; ++i) {
    dispatches.push_back(rec::dispatch(i + 1'000'000, v1::TASK, "one"));
  }
  pool.append(dispatches);
  while (pool.info("one")) pool.failed("one", v1::Failed::BURY);
  EXPECT_EQ(pool.machine().dead().size(), kDeadTasksMax + 1);
  EXPECT_TRUE(pool.machine().dead().contains(kept));
  EXPECT_FALSE(pool.machine().dead().contains(kept + 1));
  EXPECT_EQ(pool.machine().stats().dead_dropped, 1U);
}

// Under the user's own assignment a key that comes back needs a choice like any new one.
TEST(DeadLetters, ARetriedTaskAsksForAChoice) {
  TestPool pool;
  v1::Configure options;
  options.set_assignment(v1::Configure::CHOSEN);
  pool.append(rec::configure(options));
  pool.chooser("a");
  pool.task("k");
  pool.append(pool.choice("k", "a"));
  const std::uint64_t id = bury(pool, "k");
  pool.retry_dead(id);
  EXPECT_EQ(pool.seen().choices, std::vector<Bytes>{"k"});
  pool.append(pool.choice("k", "a"));
  EXPECT_EQ(pool.holder("k"), "a");
}

}  // namespace
}  // namespace tenure::test

// Answers in the log for dispatchers that keep no state: due until written, whichever node is the eldest.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

TEST(Answers, AreDueOnlyWhereTheDispatcherAsked) {
  TestPool pool;
  pool.node("a");
  pool.task("quiet");
  EXPECT_TRUE(pool.history().answers_due.empty());
  const std::uint64_t ticket = pool.task("k", {.answer_in_log = true});
  ASSERT_EQ(pool.seen().answers_due.size(), 1U);
  EXPECT_EQ(pool.seen().answers_due[0].ticket, ticket);
  EXPECT_EQ(pool.seen().answers_due[0].state, TicketState::accepted);
  EXPECT_TRUE(pool.machine().answers().contains(ticket));
}

TEST(Answers, ARefusalIsSaidWithItsReason) {
  TestPool pool;
  pool.node("a");
  pool.resident("k");
  const std::uint64_t ticket = pool.resident("k", {.answer_in_log = true});
  ASSERT_EQ(pool.seen().answers_due.size(), 1U);
  EXPECT_EQ(pool.seen().answers_due[0].state, TicketState::refused);
  EXPECT_EQ(pool.seen().answers_due[0].code, Errc::key_exists);
  pool.append(rec::answer(ticket, v1::Answer::REFUSED));
  EXPECT_TRUE(pool.machine().answers().empty());
}

TEST(Answers, WhatWasSaidIsDueNoMore) {
  TestPool pool;
  const std::uint64_t eldest = pool.node("a");
  pool.node("b");
  const std::uint64_t ticket = pool.task("k", {.answer_in_log = true});
  pool.append(rec::answer(ticket, v1::Answer::ACCEPTED));
  EXPECT_TRUE(pool.machine().answers().empty());
  pool.append(rec::answer(ticket, v1::Answer::ACCEPTED));
  EXPECT_EQ(pool.refused(), 1U);
  pool.leave(eldest);
  EXPECT_TRUE(pool.seen().answers_due.empty());
}

TEST(Answers, ANewerStateIsStillDueWhenAnOlderOneIsSaid) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t ticket = pool.task("k", {.answer_in_log = true});
  pool.failed("k", v1::Failed::DROP);
  pool.append(rec::answer(ticket, v1::Answer::ACCEPTED));
  ASSERT_TRUE(pool.machine().answers().contains(ticket));
  EXPECT_EQ(pool.machine().answers().at(ticket).state, TicketState::failed);
  EXPECT_EQ(pool.machine().answers().at(ticket).text, "it broke");
  pool.append(rec::answer(ticket, v1::Answer::FAILED));
  EXPECT_TRUE(pool.machine().answers().empty());
}

TEST(Answers, WhenTheEldestGoesTheyAreTheNextOnesInTheirOrder) {
  TestPool pool;
  const std::uint64_t eldest = pool.node("a");
  const std::uint64_t next = pool.node("b");
  const std::uint64_t younger = pool.node("c");
  const std::uint64_t first = pool.task("k9", {.answer_in_log = true});
  const std::uint64_t second = pool.task("k1", {.answer_in_log = true});
  pool.leave(younger);
  EXPECT_TRUE(pool.seen().answers_due.empty());
  pool.crash(eldest);
  ASSERT_EQ(pool.seen().answers_due.size(), 2U);
  EXPECT_EQ(pool.seen().answers_due[0].ticket, first);
  EXPECT_EQ(pool.seen().answers_due[1].ticket, second);
  EXPECT_EQ(pool.machine().sessions().eldest()->id, next);
}

// Nobody was there to say it: the first to join is the eldest, and it is due from that one.
TEST(Answers, WhatComesDueInAnEmptyPoolIsTheFirstJoiners) {
  TestPool pool;
  const std::uint64_t ticket = pool.task("k", {.answer_in_log = true});
  pool.join();
  ASSERT_EQ(pool.seen().answers_due.size(), 1U);
  EXPECT_EQ(pool.seen().answers_due[0].ticket, ticket);
  pool.join();
  EXPECT_TRUE(pool.seen().answers_due.empty());
}

// Done names the ticket itself, so that nothing is left to say.
TEST(Answers, DoneNeedsNoAnswer) {
  TestPool pool;
  pool.node("a");
  pool.task("k", {.answer_in_log = true});
  pool.done("k");
  EXPECT_TRUE(pool.machine().answers().empty());
  EXPECT_TRUE(pool.seen().answers_due.empty());
}

TEST(Answers, AStopIsAnsweredTwice) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  const std::uint64_t stop = pool.stop("k", true);
  EXPECT_EQ(pool.seen().answers_due.at(0).state, TicketState::accepted);
  pool.released("k");
  EXPECT_EQ(pool.seen().answers_due.at(0).ticket, stop);
  EXPECT_EQ(pool.seen().answers_due.at(0).state, TicketState::stopped);
}

TEST(Answers, TheyAreBoundedAndTheOldestIsLeftToItsDispatcher) {
  TestPool pool;
  v1::Configure options;
  options.set_max_queued_jobs(1);
  pool.append(rec::configure(options));
  pool.task("k");
  TestPool::Records dispatches;
  for (std::uint64_t i = 0; i <= kUnansweredMax; ++i) {
    dispatches.push_back(rec::dispatch(i + 1'000'000, v1::TASK, "k", {.answer_in_log = true}));
  }
  pool.append(dispatches);
  EXPECT_EQ(pool.machine().answers().size(), kUnansweredMax);
  EXPECT_FALSE(pool.machine().answers().contains(1'000'000));
  EXPECT_TRUE(pool.machine().answers().contains(1'000'001));
}

}  // namespace
}  // namespace tenure::test

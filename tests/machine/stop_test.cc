// Stop ends all jobs of a key, in every state, and reports when they have ended.

#include <gtest/gtest.h>

#include "machine/image.h"
#include "machine/pool.h"

namespace tenure::test {
namespace {

const std::vector kStopped{TicketState::accepted, TicketState::stopped};

TEST(Stop, WithoutAJobItSaysNoSuchKey) {
  TestPool pool;
  EXPECT_EQ(pool.refusal(pool.stop("k")), Errc::no_such_key);
  pool.append(rec::stop(0, "k"));
  EXPECT_EQ(pool.refused(), 2U);
}

TEST(Stop, ARunningResidentIsAskedAndGoneWithItsRelease) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t job = pool.running("k");
  const std::uint64_t stop = pool.stop("k");
  EXPECT_EQ(pool.seen().stops.at(0).why, StopReason::stop);
  EXPECT_EQ(pool.outcomes(stop), std::vector{TicketState::accepted});
  pool.released("k");
  EXPECT_EQ(pool.seen().ends.at(0).why, TenureEnd::stopped);
  EXPECT_EQ(pool.outcomes(stop), kStopped);
  EXPECT_EQ(pool.outcome(job), TicketState::stopped);
  EXPECT_FALSE(pool.info("k"));
}

TEST(Stop, EveryoneWhoAskedIsTold) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  const std::uint64_t first = pool.stop("k");
  const std::uint64_t second = pool.stop("k");
  EXPECT_TRUE(pool.seen().stops.empty()) << "the holder was asked already";
  pool.released("k");
  EXPECT_EQ(pool.outcomes(first), kStopped);
  EXPECT_EQ(pool.outcomes(second), kStopped);
}

// The holder hears of it at once, and need not have finished starting.
TEST(Stop, AStartingResidentIsAskedAtOnce) {
  TestPool pool;
  pool.node("a");
  pool.resident("k");
  const std::uint64_t epoch = pool.epoch("k");
  const std::uint64_t stop = pool.stop("k");
  EXPECT_EQ(pool.seen().stops.at(0).why, StopReason::stop);
  EXPECT_EQ(pool.state("k"), JobState::stopping);
  EXPECT_EQ(image_of(pool.machine()).global.keys().workers(0).starting(), 0U);
  pool.append(rec::started("k", epoch));
  EXPECT_EQ(pool.refused(), 1U) << "it comes too late";
  pool.pass(20'000);
  EXPECT_TRUE(pool.seen().stops.empty()) << "and the start times out no more";
  pool.released("k");
  EXPECT_EQ(pool.outcomes(stop), kStopped);
  EXPECT_FALSE(pool.info("k"));
}

TEST(Stop, AfterAStartTimedOutTheKeyIsNotTriedAgain) {
  TestPool pool;
  pool.node("a");
  pool.resident("k");
  pool.pass(20'000);
  EXPECT_EQ(pool.state("k"), JobState::moving);
  const std::uint64_t stop = pool.stop("k");
  EXPECT_EQ(pool.state("k"), JobState::stopping);
  pool.released("k");
  EXPECT_EQ(pool.outcomes(stop), kStopped);
  EXPECT_FALSE(pool.info("k"));
  EXPECT_EQ(image_of(pool.machine()).global.keys().workers(0).moving(), 0U);
}

// The holder gives the key back before it has said that it started: the stop is done, not put off.
TEST(Stop, AReleaseInsteadOfAStartIsTheEndOfIt) {
  TestPool pool;
  pool.node("a");
  pool.resident("k");
  const std::uint64_t stop = pool.stop("k");
  pool.released("k");
  EXPECT_EQ(pool.outcomes(stop), kStopped);
  EXPECT_FALSE(pool.info("k"));
}

TEST(Stop, AFailureInsteadOfAStartIsTheEndOfItAndTheDispatcherIsTold) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t job = pool.resident("k");
  const std::uint64_t stop = pool.stop("k");
  pool.failed("k");
  EXPECT_EQ(pool.outcome(job), TicketState::failed);
  EXPECT_EQ(pool.outcomes(stop), kStopped);
  EXPECT_FALSE(pool.info("k"));
}

TEST(Stop, TheDeathOfTheHolderIsTheEndOfIt) {
  for (const bool has_started : {false, true}) {
    TestPool pool;
    const std::uint64_t session = pool.node("a");
    pool.resident("k");
    if (has_started) pool.started("k");
    const std::uint64_t stop = pool.stop("k");
    pool.crash(session);
    EXPECT_EQ(pool.outcomes(stop), kStopped);
    EXPECT_FALSE(pool.info("k"));
  }
}

TEST(Stop, AMovingResidentIsNotStartedAgain) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.append(rec::drain("a"));
  ASSERT_EQ(pool.state("k"), JobState::moving);
  const std::uint64_t stop = pool.stop("k");
  EXPECT_TRUE(pool.seen().stops.empty()) << "it is being stopped already";
  pool.node("b");
  pool.released("k");
  EXPECT_TRUE(pool.seen().grants.empty());
  EXPECT_EQ(pool.outcomes(stop), kStopped);
  EXPECT_FALSE(pool.info("k"));
}

TEST(Stop, AQueuedOrWaitingJobIsGoneAtOnce) {
  TestPool pool;
  const std::uint64_t queued = pool.resident("q");
  const std::uint64_t delayed = pool.resident("w", {.delay_ms = 5'000});
  EXPECT_EQ(pool.outcomes(pool.stop("q")), kStopped);
  EXPECT_EQ(pool.outcomes(pool.stop("w")), kStopped);
  EXPECT_EQ(pool.outcome(queued), TicketState::stopped);
  EXPECT_EQ(pool.outcome(delayed), TicketState::stopped);
  EXPECT_EQ(pool.machine().keys(), 0U);
  EXPECT_EQ(pool.machine().queued(), 0U);
  pool.node("a");
  pool.pass(10'000);
  EXPECT_TRUE(pool.history().grants.empty());
}

// The answer to a stop is the number of tasks that it has dropped: those behind the running one, or all that wait.
TEST(Stop, TellsHowManyTasksItHasDropped) {
  TestPool pool;
  const auto text_of = [&](std::uint64_t stop) {
    for (const Recorder::Settled& one : pool.history().settlements) {
      if (one.ticket == stop && one.state == TicketState::stopped) return one.text;
    }
    return Bytes("no answer");
  };
  for (int i = 0; i < 3; ++i) pool.task("waits");
  pool.task("waits", {.delay_ms = 5'000});
  EXPECT_EQ(text_of(pool.stop("waits")), "4");
  pool.task("delayed", {.delay_ms = 5'000});
  EXPECT_EQ(text_of(pool.stop("delayed")), "1");
  pool.resident("resident");
  EXPECT_EQ(text_of(pool.stop("resident")), "");

  pool.node("a");
  for (int i = 0; i < 3; ++i) pool.task("runs");
  pool.started("runs");
  const std::uint64_t stop = pool.stop("runs");
  const std::uint64_t again = pool.stop("runs");
  ASSERT_TRUE(pool.machine().restore(save(pool.machine())));
  pool.released("runs");
  EXPECT_EQ(text_of(stop), "2");
  EXPECT_EQ(text_of(again), "2");
}

TEST(Stop, AllTasksOfTheKeyGoTheRunningOneIsAsked) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t runs = pool.task("k");
  const std::uint64_t waits = pool.task("k");
  const std::uint64_t later = pool.task("k", {.delay_ms = 5'000});
  const std::uint64_t stop = pool.stop("k");
  EXPECT_EQ(pool.outcome(waits), TicketState::stopped);
  EXPECT_EQ(pool.outcome(later), TicketState::stopped);
  EXPECT_EQ(pool.outcome(runs), TicketState::accepted);
  const std::uint64_t next = pool.task("k");
  EXPECT_EQ(pool.outcome(next), TicketState::accepted) << "what comes after the stop is not its business";
  pool.released("k");
  EXPECT_EQ(pool.outcome(runs), TicketState::stopped);
  EXPECT_EQ(pool.outcomes(stop), kStopped);
  EXPECT_EQ(pool.info("k")->ticket, next);
  EXPECT_EQ(pool.state("k"), JobState::running);
}

TEST(Stop, ATaskThatIsDoneFirstIsDone) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t runs = pool.task("k");
  const std::uint64_t stop = pool.stop("k");
  pool.done("k");
  EXPECT_EQ(pool.outcome(runs), TicketState::done);
  EXPECT_EQ(pool.outcomes(stop), kStopped);
}

TEST(Stop, AKeyOfDelayedTasksOnlyIsGoneAtOnce) {
  TestPool pool;
  const std::uint64_t later = pool.task("k", {.delay_ms = 5'000});
  EXPECT_EQ(pool.outcomes(pool.stop("k")), kStopped);
  EXPECT_EQ(pool.outcome(later), TicketState::stopped);
  EXPECT_FALSE(pool.info("k"));
  EXPECT_FALSE(pool.machine().next_due_ms());
}

TEST(Stop, ADeadOrQuarantinedResidentGoesWithItsLetter) {
  TestPool pool;
  v1::Configure options;
  options.set_quarantine_after_plus_one(2);
  pool.append(rec::configure(options));
  const std::uint64_t session = pool.node("a");
  pool.running("dead");
  pool.failed("dead", v1::Failed::BURY);
  pool.running("quarantined");
  pool.crash(session);
  EXPECT_EQ(pool.state("dead"), JobState::dead);
  EXPECT_EQ(pool.state("quarantined"), JobState::quarantined);
  EXPECT_EQ(pool.machine().dead().size(), 2U);
  EXPECT_EQ(pool.outcomes(pool.stop("dead")), kStopped);
  EXPECT_EQ(pool.outcomes(pool.stop("quarantined")), kStopped);
  EXPECT_TRUE(pool.machine().dead().empty());
  EXPECT_EQ(pool.machine().keys(), 0U);
}

// Many callers may request the stop of a job that hangs: only a bounded number is kept, and the others get an error.
TEST(Stop, ThoseWhoWaitForOneStopAreBounded) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  for (std::size_t i = 0; i < kStopsMax; ++i) pool.stop("k", i % 2 == 0);
  EXPECT_EQ(pool.refusal(pool.stop("k")), Errc::busy);
  pool.released("k");
  EXPECT_FALSE(pool.info("k"));
}

}  // namespace
}  // namespace tenure::test

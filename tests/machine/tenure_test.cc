// A tenure is granted once, identified by its epoch alone, and ends before the next one begins, which gets its legacy.

#include <gtest/gtest.h>

#include <set>

#include "machine/pool.h"

namespace tenure::test {
namespace {

// The key's rendezvous target when "a" and "b" are both there; found by asking.
Bytes key_of(BytesView worker) {
  for (int i = 0;; ++i) {
    TestPool pool;
    pool.node("a");
    pool.node("b");
    const Bytes key = "key" + std::to_string(i);
    pool.resident(key);
    if (pool.holder(key) == worker) return key;
  }
}

TEST(Tenure, StartedIsHeardOnce) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t ticket = pool.resident("k");
  pool.started("k");
  EXPECT_EQ(pool.state("k"), JobState::running);
  EXPECT_EQ(pool.outcome(ticket), TicketState::started);
  pool.started("k");
  EXPECT_EQ(pool.refused(), 1U);
  EXPECT_TRUE(pool.seen().lines.empty());
}

TEST(Tenure, ATaskSaysStartedWhileItRuns) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t ticket = pool.task("k");
  EXPECT_EQ(pool.state("k"), JobState::running);
  pool.started("k");
  EXPECT_EQ(pool.outcome(ticket), TicketState::started);
  pool.done("k", "result");
  EXPECT_EQ(pool.outcomes(ticket), (std::vector{TicketState::accepted, TicketState::started, TicketState::done}));
  EXPECT_EQ(pool.seen().settlements.back().text, "result");
}

TEST(Tenure, OnlyThePresentEpochSpeaks) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  const std::uint64_t epoch = pool.epoch("k");
  for (const std::uint64_t wrong : {epoch - 1, epoch + 1, std::uint64_t{0}}) {
    const std::uint64_t before = pool.refused();
    pool.append({rec::started("k", wrong), rec::released("k", wrong), rec::done("k", wrong), rec::failed("k", wrong),
                 rec::checkpoint("k", wrong, "x"), rec::notified("k", wrong, 1)});
    EXPECT_EQ(pool.refused(), before + 6);
    EXPECT_TRUE(pool.seen().lines.empty());
  }
  EXPECT_EQ(pool.state("k"), JobState::running);
  EXPECT_FALSE(pool.info("k")->has_checkpoint);
}

// A holder that was fenced wakes up while its key waits for, or has, another holder.
TEST(Tenure, ALateHolderIsRefusedWhileTheKeyWaitsAndAfterItsNextGrant) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  pool.running("k");
  const std::uint64_t old_epoch = pool.epoch("k");
  pool.append(rec::end(session, v1::End::FENCED));
  EXPECT_EQ(pool.state("k"), JobState::queued);
  pool.append(rec::done("k", old_epoch, "late"));
  EXPECT_EQ(pool.state("k"), JobState::queued);
  pool.node("b");
  EXPECT_GT(pool.epoch("k"), old_epoch);
  pool.append({rec::started("k", old_epoch), rec::done("k", old_epoch)});
  EXPECT_EQ(pool.state("k"), JobState::starting);
  EXPECT_EQ(pool.refused(), 3U);
}

// The same key under a new job gets a new epoch too: the slot may be the same, the tenure is not.
TEST(Tenure, ALateRecordDoesNotTouchTheNextJobOfTheKey) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  const std::uint64_t old_epoch = pool.epoch("k");
  pool.done("k");
  pool.running("k");
  EXPECT_GT(pool.epoch("k"), old_epoch);
  pool.append({rec::done("k", old_epoch), rec::released("k", old_epoch), rec::failed("k", old_epoch)});
  EXPECT_EQ(pool.state("k"), JobState::running);
}

TEST(Tenure, AMovingKeyIsGrantedOnlyByItsRelease) {
  const Bytes key = key_of("b");
  TestPool pool;
  pool.node("a");
  pool.running(key);
  const std::uint64_t old_epoch = pool.epoch(key);
  pool.node("b");
  ASSERT_EQ(pool.seen().stops.size(), 1U);
  EXPECT_EQ(pool.seen().stops[0].why, StopReason::move);
  EXPECT_EQ(pool.seen().stops[0].tenure.worker, "a");
  EXPECT_TRUE(pool.seen().grants.empty());
  EXPECT_EQ(pool.holder(key), "a");
  pool.pass(60'000);
  EXPECT_TRUE(pool.seen().grants.empty());
  pool.released_with(key, "blob");
  ASSERT_EQ(pool.seen().grants.size(), 1U);
  EXPECT_EQ(pool.seen().ends[0].why, TenureEnd::handoff);
  EXPECT_EQ(pool.seen().grants[0].tenure.worker, "b");
  EXPECT_EQ(pool.seen().grants[0].checkpoint, "blob");
  EXPECT_GT(pool.seen().grants[0].tenure.epoch, old_epoch);
  EXPECT_FALSE(pool.seen().grants[0].first);
  EXPECT_EQ(pool.machine().stats().moves, 1U);
}

TEST(Tenure, TheDeathOfTheOldHolderEndsAMoveToo) {
  const Bytes key = key_of("b");
  TestPool pool;
  const std::uint64_t first = pool.node("a");
  pool.running(key);
  pool.node("b");
  pool.crash(first);
  EXPECT_EQ(pool.holder(key), "b");
}

// The new worker goes before the old one has stopped: the key comes back to where it was, under a new epoch.
TEST(Tenure, AMoveWhoseAimLeftComesBack) {
  const Bytes key = key_of("b");
  TestPool pool;
  pool.node("a");
  pool.running(key);
  const std::uint64_t old_epoch = pool.epoch(key);
  const std::uint64_t second = pool.node("b");
  pool.crash(second);
  EXPECT_EQ(pool.state(key), JobState::moving);
  pool.released(key);
  EXPECT_EQ(pool.holder(key), "a");
  EXPECT_GT(pool.epoch(key), old_epoch);
}

TEST(Tenure, AJobThatFailsWhileItMovesIsTriedAgainAtItsAim) {
  const Bytes key = key_of("b");
  TestPool pool;
  pool.node("a");
  pool.running(key);
  pool.node("b");
  pool.failed(key, v1::Failed::REQUEUE, 1'000);
  EXPECT_EQ(pool.state(key), JobState::waiting);
  pool.pass(1'000);
  EXPECT_EQ(pool.holder(key), "b");
  EXPECT_EQ(image_of(pool.machine()).global.keys().workers(0).moving(), 0U);
}

TEST(Tenure, AJobThatIsDoneWhileItMovesIsDone) {
  const Bytes key = key_of("b");
  TestPool pool;
  pool.node("a");
  pool.running(key);
  pool.node("b");
  pool.done(key);
  EXPECT_FALSE(pool.info(key));
}

// A worker may give a key back without being asked; it is granted again to whom it belongs.
TEST(Tenure, AnUnaskedReleaseIsAHandoff) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  const std::uint64_t epoch = pool.epoch("k");
  pool.released_with("k", "kept");
  EXPECT_EQ(pool.state("k"), JobState::starting);
  EXPECT_GT(pool.epoch("k"), epoch);
  EXPECT_EQ(pool.info("k")->checkpoint, "kept");
  pool.task("t");
  pool.released("t");
  EXPECT_EQ(pool.state("t"), JobState::running);
  EXPECT_EQ(pool.info("t")->attempt, 1U);
}

TEST(Tenure, EpochsGrowAcrossKeysAndTimeStandingStill) {
  TestPool pool;
  pool.node("a");
  for (int i = 0; i < 50; ++i) pool.task("k" + std::to_string(i));
  std::uint64_t last = 0;
  for (const Recorder::Granted& grant : pool.history().grants) {
    EXPECT_GT(grant.tenure.epoch, last);
    last = grant.tenure.epoch;
  }
  EXPECT_EQ(pool.machine().epoch_last(), last);
}

TEST(Tenure, TheLastCheckpointGoesToTheNextHolder) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  pool.running("k");
  pool.checkpoint("k", "one");
  pool.checkpoint("k", "two");
  pool.checkpoint("k", Bytes(kBlobBytesMax + 1, 'x'));
  EXPECT_EQ(pool.refused(), 1U);
  pool.crash(session);
  pool.node("b");
  ASSERT_EQ(pool.seen().grants.size(), 1U);
  EXPECT_TRUE(pool.seen().grants[0].has_checkpoint);
  EXPECT_EQ(pool.seen().grants[0].checkpoint, "two");
}

TEST(Tenure, AnEmptyBlobReplacesTheCheckpointAndNoBlobKeepsIt) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.checkpoint("k", "one");
  pool.released("k");
  EXPECT_EQ(pool.info("k")->checkpoint, "one");
  pool.released_with("k", "");
  EXPECT_TRUE(pool.info("k")->has_checkpoint);
  EXPECT_EQ(pool.info("k")->checkpoint, "");
}

TEST(Tenure, ATaskKeepsItsCheckpointOverRetriesAndTheNextTaskDoesNotGetIt) {
  TestPool pool;
  pool.node("a");
  pool.task("k");
  pool.task("k");
  pool.checkpoint("k", "half");
  pool.failed("k");
  pool.pass(2'000);
  EXPECT_EQ(pool.seen().grants.at(0).checkpoint, "half");
  pool.done("k");
  ASSERT_EQ(pool.seen().grants.size(), 1U);
  EXPECT_FALSE(pool.seen().grants[0].has_checkpoint);
}

TEST(Tenure, AResultOrBlobOutOfBoundsIsRefused) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.done("k", Bytes(kResultBytesMax + 1, 'r'));
  pool.released_with("k", Bytes(kBlobBytesMax + 1, 'b'));
  EXPECT_EQ(pool.refused(), 2U);
  EXPECT_EQ(pool.state("k"), JobState::running);
}

TEST(Tenure, TheLastOnesOfResidentsAreRemembered) {
  TestPool pool;
  const std::uint64_t first = pool.node("a");
  pool.running("k");
  const std::int64_t started_ms = pool.now_ms();
  pool.jump(100);
  pool.task("t");
  const std::uint64_t epoch = pool.epoch("k");
  EXPECT_EQ(pool.info("k")->past, Past::none);
  pool.node("b");
  pool.done("t");
  pool.crash(first);
  ASSERT_EQ(pool.machine().past_tenures().size(), 1U) << "of tasks nothing is kept";
  const PastTenure& past = pool.machine().past_tenures().front();
  EXPECT_EQ(past.key, "k");
  EXPECT_EQ(past.worker, "a");
  EXPECT_EQ(past.epoch, epoch);
  EXPECT_EQ(past.why, TenureEnd::crashed);
  EXPECT_EQ(past.started_ms, started_ms);
  EXPECT_EQ(past.ended_ms, pool.now_ms());
  EXPECT_EQ(pool.info("k")->past, Past::kept);
  EXPECT_EQ(pool.info("k")->started_ms, 0) << "the next one has not";

  Machine restored;
  ASSERT_TRUE(restored.restore(save(pool.machine())));
  ASSERT_EQ(restored.past_tenures().size(), 1U);
  EXPECT_EQ(restored.past_tenures().front().worker, "a");
  EXPECT_EQ(restored.past_tenures().front().started_ms, started_ms);
  EXPECT_EQ(restored.find("k")->past, Past::kept);
  EXPECT_EQ(restored.state_digest(), pool.machine().state_digest());
  EXPECT_EQ(restored.state_bytes(), pool.machine().state_bytes());
}

TEST(Tenure, TheOldestAreForgotten) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  const std::uint64_t bytes = pool.machine().state_bytes();
  for (std::size_t i = 0; i < kPastTenuresMax + 10; ++i) {
    pool.released("k");
    pool.started("k");
  }
  EXPECT_EQ(pool.machine().past_tenures().size(), kPastTenuresMax);
  EXPECT_EQ(pool.machine().past_tenures().back().epoch + 1, pool.epoch("k"));
  EXPECT_EQ(pool.machine().state_bytes(), bytes + kPastTenuresMax * 42);
}

// A host, and users of dead letters, identify tenures of all shards by their epochs alone.
TEST(Tenure, ShardsGiveNoEpochTwice) {
  std::set<std::uint64_t> epochs;
  for (const std::uint32_t shard : {0U, 1U, 2U}) {
    TestPool pool;
    v1::Configure options;
    options.set_shard(shard);
    options.set_shards(3);
    pool.append(rec::configure(options));
    pool.node("a");
    constexpr std::uint64_t kTasks = 100;
    std::vector<v1::Record> at_once;
    at_once.reserve(kTasks);
    for (std::uint64_t i = 0; i < kTasks; ++i)
      at_once.push_back(rec::dispatch(1000 + i, v1::TASK, std::to_string(i), {}));
    pool.append(at_once);
    for (const Recorder::Granted& grant : pool.seen().grants) {
      EXPECT_EQ(grant.tenure.epoch % 3, shard);
      EXPECT_TRUE(epochs.insert(grant.tenure.epoch).second);
    }
  }
  EXPECT_EQ(epochs.size(), 300U);
}

TEST(Tenure, ADeadLetterIsKnownToBeOfItsShard) {
  TestPool pool;
  v1::Configure options;
  options.set_shard(1);
  options.set_shards(4);
  pool.append(rec::configure(options));
  pool.node("a");
  for (const char* key : {"a", "b", "c"}) {
    pool.task(key);
    pool.failed(key, v1::Failed::BURY);
  }
  ASSERT_EQ(pool.machine().dead().size(), 3U);
  for (const auto& [id, letter] : pool.machine().dead()) EXPECT_EQ(id % 4, 1U);
}

// A slot, a job number and a worker's index are used again at once. What still lies in queues and timers of their
// former life is void.
TEST(Tenure, WhatRemainsOfFormerLivesIsVoid) {
  TestPool pool;
  const std::uint64_t first = pool.node("a", {.window = 1});
  pool.task("busy");
  pool.task("gone");                         // queued behind the window of "a"
  pool.resident("slow");                     // with a start timer
  pool.task("later", {.delay_ms = 10'000});  // with a delay timer
  for (const char* key : {"gone", "later"}) pool.stop(key);
  pool.stop("slow");
  pool.crash(first);
  EXPECT_EQ(pool.machine().keys(), 1U);
  pool.node("b", {.window = 1});  // takes the index of "a", and "busy"
  pool.resident("r1");
  pool.resident("r2");
  pool.task("t1");
  pool.pass(60'000);
  for (const char* key : {"r1", "r2"}) EXPECT_EQ(pool.state(key), JobState::moving) << "its own start timed out";
  EXPECT_EQ(pool.state("t1"), JobState::queued);
  pool.done("busy");
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"t1"});
}

}  // namespace
}  // namespace tenure::test

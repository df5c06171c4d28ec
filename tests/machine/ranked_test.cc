// Partitions: residents that the pool makes itself, and places by the ordinals of its workers.

#include <gtest/gtest.h>

#include "machine/many_keys.h"
#include "machine/ranked.h"

namespace tenure::test {
namespace {

using Holders = std::vector<Bytes>;

constexpr Ring kFour{.partitions = 4, .secondaries = 1};
constexpr Ring kFourByTwo{.partitions = 4, .secondaries = 2};

TEST(Partitions, TheFirstWorkerBringsThem) {
  RankedPool pool(kFour);
  pool.up(2);
  EXPECT_EQ(pool.machine().config().ring, kFour);
  EXPECT_EQ(pool.machine().keys(), 4U);
  EXPECT_EQ(pool.holders(), (Holders{"", "w2", "w2", ""}));
  EXPECT_EQ(pool.info("partition/1")->payload, "4");
  EXPECT_EQ(pool.info("partition/1")->type, ".partition");
  EXPECT_EQ(pool.state("partition/0"), JobState::queued);
  EXPECT_EQ(pool.machine().queued(), 0U);
}

TEST(Partitions, EachGoesToItsPrimary) {
  RankedPool pool(kFour);
  pool.all_up();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w2", "w3"}));
}

TEST(Partitions, ASecondaryTakesOverAndHandsBack) {
  RankedPool pool(kFour);
  pool.all_up();
  pool.down(1);
  EXPECT_EQ(pool.held_by(1), "w2");
  pool.settle();
  const std::uint64_t moves = pool.machine().stats().moves;
  pool.up(1);
  // The secondary is asked to stop; the primary gets it with the release, and nothing else moves.
  EXPECT_EQ(pool.held_by(1), "w2");
  EXPECT_EQ(pool.state("partition/1"), JobState::moving);
  const std::uint64_t epoch = pool.epoch("partition/1");
  pool.released_with("partition/1", "blob");
  EXPECT_EQ(pool.held_by(1), "w1");
  EXPECT_GT(pool.epoch("partition/1"), epoch);
  EXPECT_EQ(pool.seen().grants.size(), 1U);
  EXPECT_EQ(pool.seen().grants.at(0).checkpoint, "blob");
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w2", "w3"}));
  EXPECT_EQ(pool.machine().stats().moves - moves, 1U);
}

TEST(Partitions, OneWithNeitherPrimaryNorSecondaryWaits) {
  RankedPool pool(kFour);
  pool.all_up();
  pool.down(1);
  pool.settle();
  pool.down(2);
  EXPECT_EQ(pool.holders(), (Holders{"w0", "", "w3", "w3"}));
  EXPECT_EQ(pool.state("partition/1"), JobState::queued);
  EXPECT_EQ(pool.info("partition/1")->target, "");
  pool.up(2);
  EXPECT_EQ(pool.held_by(1), "w2");
}

TEST(Partitions, WhereAnyoneMayTheLeastLoadedDoes) {
  RankedPool pool({.partitions = 4, .secondaries = 1, .anyone = true});
  pool.all_up();
  pool.down(1);
  pool.settle();
  pool.down(2);
  // Workers 0 and 3 had one each when partition 1 was placed, and 3 is nearer.
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w3", "w3", "w3"}));
  pool.settle();
  pool.up(2);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w2", "w2", "w3"}));
}

// Both partitions of the dead worker are placed in one step; the second goes where the first did not.
TEST(Partitions, OfTheSecondariesTheOneWithTheFewestGetsIt) {
  RankedPool pool(kFourByTwo);
  for (const std::uint32_t ordinal : {1U, 2U, 3U}) pool.up(ordinal);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w1", "w1", "w2", "w3"}));
  pool.up(0);
  pool.settle();
  pool.down(2);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w3", "w3"}));
  pool.down(3);
  // Partition 2 has only worker 0 left; partition 3 could go to 0 or 1, and 1 has fewer by then.
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w0", "w1"}));
}

TEST(Partitions, ASecondaryThatComesTakesNothingFromAnother) {
  RankedPool pool(kFourByTwo);
  pool.up(1);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w1", "w1", "", "w1"}));
  pool.up(2);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w1", "w1", "w2", "w1"}));
}

TEST(Partitions, AReplacementInheritsTheOrdinalAndMovesEachOnce) {
  RankedPool pool(kFour);
  pool.all_up();
  const std::uint64_t moves = pool.machine().stats().moves;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const Bytes old = "w" + std::to_string(i);
    pool.up(old + "b", kNoOrdinal, old);
    pool.settle();
    pool.leave(pool.session_of(old));
  }
  EXPECT_EQ(pool.holders(), (Holders{"w0b", "w1b", "w2b", "w3b"}));
  EXPECT_EQ(pool.machine().stats().moves - moves, 4U);
}

TEST(Partitions, TwoLivingWorkersCannotHaveOneOrdinal) {
  RankedPool pool(kFour);
  pool.all_up();
  pool.up("other", 2);
  EXPECT_EQ(pool.session_of("other"), 0U);
  EXPECT_EQ(pool.seen().workers_refused.at(0), Errc::key_exists);
  pool.up("other", 2, "w1");
  EXPECT_EQ(pool.session_of("other"), 0U);
  pool.append(rec::drain("w2"));
  pool.up("other", 2);
  pool.settle();
  EXPECT_EQ(pool.held_by(2), "other");
}

TEST(Partitions, AWorkerOfOtherPartitionsIsRefused) {
  RankedPool pool(kFour);
  pool.all_up();
  const auto refused = [&](rec::WorkerSpec spec) {
    pool.node("x", spec);
    return pool.seen().workers_refused == std::vector{Errc::invalid};
  };
  rec::WorkerSpec spec = pool.spec(4);
  EXPECT_TRUE(refused(spec)) << "an ordinal out of range";
  spec = pool.spec(kNoOrdinal);
  EXPECT_TRUE(refused(spec)) << "no ordinal";
  pool.down(3);
  spec = pool.spec(3);
  spec.ring.partitions = 8;
  EXPECT_TRUE(refused(spec)) << "another number of partitions";
  spec.ring = kFourByTwo;
  EXPECT_TRUE(refused(spec)) << "another number of secondaries";
  spec.ring = {.partitions = kPartitionsMax + 1};
  EXPECT_TRUE(refused(spec)) << "too many";
  EXPECT_EQ(pool.machine().config().ring, kFour);
}

TEST(Partitions, NobodyElseUsesTheirKeys) {
  RankedPool pool(kFour);
  pool.all_up();
  for (const char* key : {"partition/1", "partition/x", "partition/9"}) {
    EXPECT_EQ(pool.refusal(pool.resident(key)), Errc::invalid);
    EXPECT_EQ(pool.refusal(pool.task(key)), Errc::invalid);
  }
  EXPECT_EQ(pool.refusal(pool.stop("partition/1")), Errc::invalid);
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w2", "w3"}));

  RankedPool taken(kFour);
  taken.resident("partition/7");
  taken.up(0);
  EXPECT_EQ(taken.session_of("w0"), 0U);
  EXPECT_EQ(taken.machine().config().ring, Ring{});
}

// A ranked worker takes nothing else, and other workers take no partitions; other keys go by rendezvous.
TEST(Partitions, OtherJobsOfThePoolAreNotConcerned) {
  RankedPool pool(kFour);
  pool.node("plain");
  run_keys(pool);
  const auto before = holders(pool);
  pool.all_up();
  pool.down(0);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w1", "w1", "w2", "w3"}));
  for (const auto& [key, holder] : before) EXPECT_EQ(pool.holder(key), holder);
}

TEST(Partitions, AnUnfitPrimaryKeepsWhatRunsAndGetsItAgainWhenItIsFit) {
  RankedPool pool(kFour);
  pool.up(2);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"", "w2", "w2", ""}));
  // Worker 1 cannot start its partition: it stays with the secondary, and comes back by a later try.
  pool.up(1);
  pool.released("partition/1");
  EXPECT_EQ(pool.held_by(1), "w1");
  pool.failed("partition/1", v1::Failed::DROP);
  EXPECT_EQ(pool.held_by(1), "w2");
  pool.settle();
  EXPECT_EQ(pool.held_by(1), "w2");
  EXPECT_EQ(pool.state("partition/1"), JobState::running);
}

TEST(Partitions, AFailingStartIsTriedAgainAndNeverDropped) {
  RankedPool pool(kFour);
  pool.up(0);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(pool.held_by(0), "w0");
    pool.failed("partition/0", v1::Failed::DROP);
    ASSERT_EQ(pool.state("partition/0"), JobState::waiting);
    pool.pass(4'000'000);
  }
}

TEST(Partitions, OneThatEndsIsMadeAgain) {
  RankedPool pool(kFour);
  pool.all_up();
  pool.done("partition/2");
  EXPECT_EQ(pool.held_by(2), "w2");
  EXPECT_EQ(pool.state("partition/2"), JobState::starting);
  EXPECT_EQ(pool.machine().keys(), 4U);
}

TEST(Partitions, ADrainedWorkerHandsItsPartitionsOver) {
  RankedPool pool(kFour);
  pool.all_up();
  pool.append(rec::drain("w1", true));
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w2", "w2", "w3"}));
  pool.append(rec::drain("w2", true));
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "", "w3", "w3"}));
}

TEST(Partitions, APrimaryMaySettleFirst) {
  RankedPool pool({.partitions = 4, .secondaries = 1, .settle_ms = 5'000});
  pool.all_up();
  // While nobody has it, it goes to its primary at once; three of them had been taken by secondaries.
  EXPECT_EQ(pool.held_by(0), "w0");
  pool.pass(6'000);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w2", "w3"}));
  for (int i = 0; i < 3; ++i) {
    pool.down(1);
    pool.settle();
    EXPECT_EQ(pool.held_by(1), "w2");
    pool.up(1);
    pool.pass(4'000);
    EXPECT_EQ(pool.state("partition/1"), JobState::running);
    EXPECT_EQ(pool.held_by(1), "w2");
  }
  pool.pass(1'000);
  EXPECT_EQ(pool.state("partition/1"), JobState::moving);
  pool.settle();
  EXPECT_EQ(pool.held_by(1), "w1");
}

TEST(Partitions, APrimaryThatSettlesTakesOverAtOnceIfTheSecondaryIsGone) {
  RankedPool pool({.partitions = 4, .secondaries = 1, .settle_ms = 5'000});
  pool.all_up();
  pool.pass(6'000);
  pool.settle();
  pool.down(1);
  pool.settle();
  pool.up(1);
  pool.down(2);
  EXPECT_EQ(pool.held_by(1), "w1");
}

TEST(Partitions, AResizeStopsAllOfTheOldNumberFirst) {
  RankedPool pool(kFour);
  pool.all_up();
  pool.checkpoint("partition/1", "mine");
  pool.resize({.partitions = 6, .secondaries = 1});
  EXPECT_EQ(pool.seen().stops.size(), 4U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    pool.released(RankedPool::key_of(i));
    EXPECT_TRUE(pool.seen().grants.empty());
  }
  pool.released("partition/3");
  EXPECT_EQ(pool.seen().grants.size(), 5U);
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w2", "w3", "", "w0"}));
  for (const auto& grant : pool.seen().grants) {
    EXPECT_EQ(grant.payload, "6");
    EXPECT_FALSE(grant.has_checkpoint);
  }
  pool.settle();
  pool.up(4);
  pool.up(5);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w2", "w3", "w4", "w5"}));
}

TEST(Partitions, AResizeGoesOnWhateverBecomesOfTheHolders) {
  RankedPool pool(kFour);
  pool.all_up();
  pool.down(3);  // partition 3 is starting at worker 0
  pool.resize({.partitions = 2, .secondaries = 1});
  pool.down(1);
  pool.leave(pool.session_of("w2"));
  EXPECT_EQ(pool.holders(), (Holders{"w0", ""}));
  EXPECT_EQ(pool.state("partition/0"), JobState::stopping);
  pool.stop_all();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w0"}));
  EXPECT_EQ(pool.machine().keys(), 2U);
  pool.settle();
  pool.up(1);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1"}));
}

TEST(Partitions, AResizeMayBeTakenBack) {
  RankedPool pool(kFour);
  pool.all_up();
  pool.resize({.partitions = 8, .secondaries = 1});
  pool.released("partition/0");
  pool.resize(kFour);
  EXPECT_EQ(pool.held_by(0), "w0");
  pool.stop_all();
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w2", "w3"}));
  EXPECT_EQ(pool.machine().keys(), 4U);
}

TEST(Partitions, OtherOptionsChangeWithoutAStop) {
  RankedPool pool(kFour);
  pool.up(3);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"", "", "w3", "w3"}));
  pool.resize(kFourByTwo);
  EXPECT_TRUE(pool.seen().stops.empty());
  EXPECT_EQ(pool.holders(), (Holders{"", "w3", "w3", "w3"}));
  pool.settle();
  pool.resize({.partitions = 4, .secondaries = 0});
  pool.settle();
  EXPECT_EQ(pool.holders(), (Holders{"", "", "", "w3"}));
}

TEST(Partitions, ABadResizeIsRefused) {
  RankedPool pool(kFour);
  pool.join();
  EXPECT_EQ(pool.refusal(pool.resize({.partitions = 2})), Errc::no_such_key);
  pool.all_up();
  EXPECT_EQ(pool.refusal(pool.resize({.partitions = 0})), Errc::invalid);
  EXPECT_EQ(pool.refusal(pool.resize({.partitions = 2, .secondaries = 2})), Errc::invalid);
  EXPECT_EQ(pool.refusal(pool.resize({.partitions = kPartitionsMax + 1})), Errc::invalid);
  EXPECT_EQ(pool.holders(), (Holders{"w0", "w1", "w2", "w3"}));
}

TEST(Partitions, AShutdownEndsThem) {
  RankedPool pool(kFour);
  pool.up(0);
  pool.settle();
  pool.append(rec::shutdown());
  pool.stop_all();
  EXPECT_EQ(pool.machine().keys(), 0U);
  EXPECT_TRUE(pool.machine().drained());
}

// Version 1 would give such a worker any key: it skips the record until the pool has switched.
TEST(Partitions, AnOldPoolHasNone) {
  RankedPool pool(kFour);
  pool.append(rec::join(500, 1));
  pool.up(0);
  EXPECT_EQ(pool.session_of("w0"), 0U);
  EXPECT_EQ(pool.machine().config().ring, Ring{});
  EXPECT_EQ(pool.machine().stats().records_unknown, 1U);
  pool.resize(kFour);
  EXPECT_EQ(pool.machine().stats().records_unknown, 2U);
  pool.leave(500);
  pool.append(rec::switch_version(2));
  pool.up(0);
  EXPECT_EQ(pool.held_by(0), "w0");
}

}  // namespace
}  // namespace tenure::test

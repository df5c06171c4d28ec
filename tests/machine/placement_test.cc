// Who holds which key: as few moves as possible when workers come and go, served and chosen keys, portions.

#include <gtest/gtest.h>

#include <map>

#include "assign/jump.h"
#include "machine/many_keys.h"

namespace tenure::test {
namespace {

void configure(TestPool& pool, v1::Configure::Assignment assignment) {
  v1::Configure options;
  options.set_assignment(assignment);
  pool.append(rec::configure(options));
}

TEST(Placement, AJoinMovesOnlyWhatTheNewcomerGets) {
  TestPool pool;
  for (const char* worker : {"a", "b", "c"}) pool.node(worker);
  run_keys(pool);
  const auto before = holders(pool);
  pool.node("d");
  pool.settle();
  std::uint64_t moved = 0;
  for (const auto& [name, holder] : holders(pool)) {
    EXPECT_TRUE(holder == before.at(name) || holder == "d");
    moved += holder == "d" ? 1 : 0;
  }
  EXPECT_EQ(pool.machine().stats().moves, moved);
  EXPECT_NEAR(static_cast<double>(moved), kKeys / 4.0, 30);
}

TEST(Placement, ALeaveMovesOnlyWhatTheLeaverHad) {
  for (const char* leaver : {"a", "b", "c"}) {
    TestPool pool;
    for (const char* worker : {"a", "b", "c"}) pool.node(worker);
    run_keys(pool);
    const auto before = holders(pool);
    pool.leave(pool.session_of(leaver));
    pool.settle();
    for (const auto& [name, holder] : holders(pool)) {
      if (before.at(name) == leaver) {
        EXPECT_NE(holder, leaver);
      } else {
        EXPECT_EQ(holder, before.at(name));
      }
    }
    EXPECT_EQ(pool.machine().stats().moves, 0U) << "what a leaver had is granted anew, not moved";
  }
}

TEST(Placement, ADrainHandsOverEveryKeyAndThenTheWorkerHoldsNone) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  run_keys(pool);
  const auto before = holders(pool);
  pool.append(rec::drain("a"));
  pool.settle();
  std::uint64_t moved = 0;
  for (const auto& [name, holder] : holders(pool)) {
    EXPECT_EQ(holder, "b");
    moved += before.at(name) == "a" ? 1 : 0;
  }
  EXPECT_EQ(pool.machine().stats().moves, moved);
  pool.append(rec::drain("a"));
  EXPECT_EQ(pool.refused(), 1U);
  pool.resident("new");
  EXPECT_EQ(pool.holder("new"), "b");
}

TEST(Placement, WhatTheLastWorkerGivesAwayWaitsForTheNext) {
  TestPool pool;
  pool.node("a");
  pool.running("k");
  pool.task("t");
  pool.append(rec::drain("a"));
  EXPECT_EQ(pool.state("k"), JobState::moving);
  EXPECT_EQ(pool.holder("t"), "a") << "a task runs to its end";
  pool.released("k");
  EXPECT_EQ(pool.state("k"), JobState::queued);
  pool.resident("new");
  EXPECT_EQ(pool.state("new"), JobState::queued);
  pool.node("b");
  EXPECT_EQ(pool.seen().granted_keys(), (std::vector<Bytes>{"k", "new"}));
}

TEST(Placement, SharesFollowTheWeights) {
  TestPool pool;
  pool.node("light", {.weight = 100});
  pool.node("heavy", {.weight = 300});
  run_keys(pool);
  int heavy = 0;
  for (const auto& [name, holder] : holders(pool)) heavy += holder == "heavy" ? 1 : 0;
  EXPECT_NEAR(heavy, kKeys * 0.75, 30);
}

TEST(Placement, StartsAreGivenInPortions) {
  TestPool pool;
  TestPool::Records dispatches;
  for (std::uint64_t i = 1; i <= 2 * kStartingMax + 10; ++i) {
    dispatches.push_back(rec::dispatch(i, v1::RESIDENT, key(static_cast<int>(i))));
  }
  pool.append(dispatches);
  pool.node("a");
  EXPECT_EQ(pool.seen().grants.size(), kStartingMax);
  pool.append(rec::started(pool.seen().grants[3].tenure.key, pool.seen().grants[3].tenure.epoch));
  EXPECT_EQ(pool.seen().grants.size(), 1U);
  pool.settle();
  EXPECT_EQ(pool.history().grants.size(), 2 * kStartingMax + 10);
}

TEST(Placement, MovesAreBegunInPortions) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  run_keys(pool);
  pool.append(rec::drain("a"));
  EXPECT_EQ(pool.seen().stops.size(), kMovingMax);
  const Tenure first = pool.seen().stops[0].tenure;
  pool.append(rec::released(first.key, first.epoch));
  EXPECT_EQ(pool.seen().stops.size(), 1U);
  EXPECT_EQ(pool.seen().grants.size(), 1U);
}

TEST(Placement, AMoveThatIsNoLongerDueIsNotBegun) {
  TestPool pool;
  pool.node("a");
  run_keys(pool);
  const std::uint64_t session = pool.node("b", {.weight = kWeightMax});
  const std::size_t begun = pool.history().stops.size();
  pool.leave(session);
  pool.settle();
  EXPECT_EQ(pool.history().stops.size(), begun);
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, "a");
}

// While its start is under way a key is not disturbed; it moves as soon as it runs.
TEST(Placement, AKeyThatIsStartingMovesOnceItRuns) {
  TestPool pool;
  pool.node("a");
  pool.resident("k");
  pool.append(rec::drain("a"));
  EXPECT_TRUE(pool.seen().stops.empty());
  pool.started("k");
  ASSERT_EQ(pool.seen().stops.size(), 1U);
  EXPECT_EQ(pool.seen().stops[0].why, StopReason::move);
}

TEST(Placement, TheTasksOfAKeyGoOnWhereItBelongsNow) {
  TestPool pool;
  pool.node("a");
  pool.task("t");
  pool.task("t");
  pool.node("b", {.serves = {"t"}});
  EXPECT_EQ(pool.holder("t"), "a");
  EXPECT_TRUE(pool.seen().stops.empty());
  pool.done("t");
  EXPECT_EQ(pool.holder("t"), "b");
}

TEST(Placement, AServedKeyGoesToItsServerAndBackWhenItIsServedNoMore) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t server = pool.node("b", {.serves = {"k"}});
  pool.running("k");
  EXPECT_EQ(pool.holder("k"), "b");
  pool.append(rec::drain("b"));
  pool.settle();
  EXPECT_EQ(pool.holder("k"), "a") << "a server that drains serves nobody";
  pool.leave(server);
  const std::uint64_t again = pool.node("c");
  pool.append(rec::serve(again, "c", {"k"}));
  pool.settle();
  EXPECT_EQ(pool.holder("k"), "c");
  pool.append(rec::serve(again, "c", {}, {"k"}));
  pool.settle();
  EXPECT_EQ(pool.holder("k"), image_of(pool.machine()).target(image_of(pool.machine()).keys.at("k"))->id());
  pool.append(rec::serve(again, "c", {"", Bytes(kKeyBytesMax + 1, 'k'), "k"}));
  pool.crash(again);
  pool.settle();
  EXPECT_EQ(pool.holder("k"), "a");
  EXPECT_EQ(image_of(pool.machine()).global.keys().served_size(), 0);
}

TEST(Placement, OfSeveralServersTheLastCountsAndTheOthersFollow) {
  TestPool pool;
  pool.node("a", {.serves = {"k"}});
  const std::uint64_t second = pool.node("b", {.serves = {"k"}});
  pool.node("c");
  pool.running("k");
  EXPECT_EQ(pool.holder("k"), "b");
  pool.crash(second);
  pool.settle();
  EXPECT_EQ(pool.holder("k"), "a");
}

TEST(Placement, JumpIsTheAgeSortedListsOwn) {
  TestPool pool;
  configure(pool, v1::Configure::JUMP);
  for (const char* worker : {"a", "b", "c"}) pool.node(worker);
  run_keys(pool);
  const std::vector<Bytes> by_age{"a", "b", "c"};
  for (const auto& [name, holder] : holders(pool)) {
    EXPECT_EQ(holder, by_age[jump_choose(hash_bytes(name), 3)]);
  }
  pool.leave(pool.session_of("a"));
  pool.settle();
  const std::vector<Bytes> left{"b", "c"};
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, left[jump_choose(hash_bytes(name), 2)]);
}

TEST(Placement, AChangeOfAssignmentMovesTheKeysToWhereTheyBelong) {
  TestPool pool;
  for (const char* worker : {"a", "b", "c"}) pool.node(worker);
  run_keys(pool);
  const auto before = holders(pool);
  configure(pool, v1::Configure::JUMP);
  pool.settle();
  EXPECT_NE(holders(pool), before);
  configure(pool, v1::Configure::RENDEZVOUS);
  pool.settle();
  EXPECT_EQ(holders(pool), before);
  configure(pool, v1::Configure::CHOSEN);
  pool.settle();
  EXPECT_EQ(holders(pool), before) << "what was placed stays until somebody chooses";
}

}  // namespace
}  // namespace tenure::test

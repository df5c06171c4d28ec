// A worker that names another one as replaced takes its place, and so its keys, in one move.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "machine/many_keys.h"

namespace tenure::test {
namespace {

// Every key has the target that a choice from scratch among the open workers gives.
void expect_fresh_choice(TestPool& pool) {
  const Image image = image_of(pool.machine());
  std::vector<Place> places;
  std::vector<Bytes> ids;
  for (const v1::WorkerState& worker : image.global.keys().workers()) {
    if (!image.open(worker)) continue;
    places.push_back({worker.seed(), worker.weight()});
    ids.push_back(worker.id());
  }
  for (const auto& [name, state] : image.keys) {
    ASSERT_NE(image.target(state), nullptr);
    EXPECT_EQ(image.target(state)->id(), ids[rendezvous_choose(hash_bytes(name), places)]);
  }
}

TEST(Replace, TheSuccessorInheritsExactlyTheKeysOfItsPredecessor) {
  TestPool pool;
  for (const char* worker : {"a", "b", "c"}) pool.node(worker);
  run_keys(pool);
  const auto before = holders(pool);
  pool.node("b2", {.replaces = "b"});
  pool.settle();
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, before.at(name) == "b" ? "b2" : before.at(name));
  pool.leave(pool.session_of("b"));
  EXPECT_TRUE(pool.seen().grants.empty());
  EXPECT_EQ(pool.machine().stats().moves, static_cast<std::uint64_t>(std::count_if(
                                              before.begin(), before.end(), [](auto& e) { return e.second == "b"; })));
}

TEST(Replace, ARollingRestartMovesEveryKeyOnce) {
  TestPool pool;
  const std::vector<Bytes> workers{"a", "b", "c", "d"};
  for (const Bytes& worker : workers) pool.node(worker);
  run_keys(pool);
  const std::size_t granted = pool.history().grants.size();
  for (const Bytes& worker : workers) {
    pool.node(worker + "2", {.replaces = worker});
    pool.settle();
    pool.leave(pool.session_of(worker));
  }
  EXPECT_EQ(pool.history().grants.size() - granted, static_cast<std::size_t>(kKeys));
  EXPECT_EQ(pool.machine().stats().moves, static_cast<std::uint64_t>(kKeys));
  expect_fresh_choice(pool);
}

TEST(Replace, ASuccessorMayItselfBeReplacedBeforeItHasEverything) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  run_keys(pool);
  const auto before = holders(pool);
  pool.node("a2", {.replaces = "a"});
  pool.node("a3", {.replaces = "a2"});
  pool.settle();
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, before.at(name) == "a" ? "a3" : "b");
  expect_fresh_choice(pool);
}

TEST(Replace, ThePlaceOfOneThatIsGoneIsTakenToo) {
  TestPool pool;
  const std::uint64_t first = pool.node("a");
  pool.node("b");
  run_keys(pool);
  const auto before = holders(pool);
  pool.leave(first);
  pool.settle();
  pool.node("a2", {.replaces = "a"});
  pool.settle();
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, before.at(name) == "a" ? "a2" : "b");
}

// Each replaces one that had replaced another and is gone by now: the place is handed on, also over a restart.
TEST(Replace, ThePlaceIsHandedDownAChainOfThoseThatAreGone) {
  TestPool pool;
  std::uint64_t session = pool.node("c");
  pool.node("z");
  run_keys(pool);
  const auto before = holders(pool);
  Bytes last = "c";
  for (const Bytes& next : {Bytes("b"), Bytes("a"), Bytes("a1")}) {
    pool.crash(session);
    pool.settle();
    ASSERT_TRUE(pool.machine().restore(save(pool.machine())));
    session = pool.node(next, {.replaces = last});
    pool.settle();
    pool.pass(kYouthMs);
    for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, before.at(name) == "c" ? next : "z");
    last = next;
  }
  expect_fresh_choice(pool);
}

// Under its own name it comes back to where it stood last, which was not where its name puts it.
TEST(Replace, AWorkerMayReplaceItsOwnFormerLife) {
  TestPool pool;
  pool.node("c");
  pool.node("z");
  run_keys(pool);
  const auto before = holders(pool);
  pool.node("b", {.replaces = "c"});
  pool.settle();
  pool.leave(pool.session_of("b"));
  pool.leave(pool.session_of("c"));
  pool.settle();
  pool.node("b", {.replaces = "b"});
  pool.settle();
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, before.at(name) == "c" ? "b" : "z");
}

TEST(Replace, ThePlacesOfThoseThatAreGoneAreBounded) {
  TestPool pool;
  std::uint64_t session = pool.node("w0");
  for (std::size_t i = 1; i <= kPlacesKeptMax + 10; ++i) {
    const std::uint64_t next = pool.node("w" + std::to_string(i), {.replaces = "w" + std::to_string(i - 1)});
    pool.leave(session);
    session = next;
  }
  EXPECT_EQ(pool.machine().workers().kept_places.size(), kPlacesKeptMax);
  EXPECT_TRUE(pool.machine().restore(save(pool.machine())));
}

// The one to be replaced drains already: its keys have other targets by now, and the newcomer must get its share.
TEST(Replace, OneThatDrainsAlreadyIsReplacedInFull) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  run_keys(pool);
  const auto before = holders(pool);
  pool.append(rec::drain("a"));
  pool.node("a2", {.replaces = "a"});
  pool.settle();
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, before.at(name) == "a" ? "a2" : "b");
  expect_fresh_choice(pool);
}

TEST(Replace, ASecondSuccessorOfOneGetsAShareOfItsOwn) {
  TestPool pool;
  pool.node("a");
  run_keys(pool);
  pool.node("a2", {.replaces = "a"});
  pool.node("a3", {.replaces = "a"});
  pool.settle();
  const auto after = holders(pool);
  EXPECT_GT(std::count_if(after.begin(), after.end(), [](auto& e) { return e.second == "a3"; }), kKeys / 4);
  expect_fresh_choice(pool);
}

TEST(Replace, AnotherWeightMovesNoMoreThanTheDifference) {
  TestPool pool;
  for (const char* worker : {"a", "b", "c"}) pool.node(worker);
  run_keys(pool);
  const auto before = holders(pool);
  pool.node("b2", {.weight = 200, .replaces = "b"});
  pool.settle();
  for (const auto& [name, holder] : holders(pool)) EXPECT_TRUE(holder == before.at(name) || holder == "b2");
  expect_fresh_choice(pool);
}

TEST(Replace, UnderChosenAssignmentTheSuccessorInheritsTheChoices) {
  TestPool pool;
  v1::Configure options;
  options.set_assignment(v1::Configure::CHOSEN);
  pool.append(rec::configure(options));
  pool.chooser("a");
  pool.node("b");
  pool.resident("k");
  pool.append(pool.choice("k", "a"));
  pool.started("k");
  pool.node("a2", {.replaces = "a"});
  pool.settle();
  EXPECT_EQ(pool.holder("k"), "a2");
}

TEST(Replace, ServedKeysFollowTheirServer) {
  TestPool pool;
  pool.node("a", {.serves = {"key1"}});
  pool.node("b");
  run_keys(pool);
  EXPECT_EQ(pool.holder("key1"), "a");
  pool.node("a2", {.replaces = "a", .serves = {"key1"}});
  pool.settle();
  EXPECT_EQ(pool.holder("key1"), "a2");
}

}  // namespace
}  // namespace tenure::test

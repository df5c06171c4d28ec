// Chosen assignment: the eldest session that has the users' function chooses, for the workers that there are. Where
// nobody can choose, and where the function fails, keys are placed by rendezvous.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

class Chosen : public testing::Test {
 protected:
  Chosen() {
    v1::Configure options;
    options.set_assignment(v1::Configure::CHOSEN);
    pool_.append(rec::configure(options));
  }
  Bytes target(BytesView key) const { return Bytes(pool_.info(key)->target); }

  TestPool pool_;
};

TEST_F(Chosen, AKeyWaitsForItsChoice) {
  pool_.chooser("a");
  pool_.node("b");
  pool_.resident("k");
  EXPECT_EQ(pool_.seen().choices, std::vector<Bytes>{"k"});
  EXPECT_TRUE(pool_.seen().grants.empty());
  pool_.append({pool_.choice("k", "nobody"), pool_.choice("none", "a")});
  EXPECT_EQ(pool_.refused(), 2U);
  pool_.append(pool_.choice("k", "b"));
  EXPECT_EQ(pool_.holder("k"), "b");
  pool_.started("k");
  pool_.append(pool_.choice("k", "a"));
  EXPECT_EQ(pool_.seen().stops.at(0).why, StopReason::move);
  EXPECT_EQ(target("k"), "a");
  pool_.released("k");
  EXPECT_EQ(pool_.holder("k"), "a");
}

TEST_F(Chosen, AChoiceIsDueAgainWhenTheWorkersChange) {
  const std::uint64_t first = pool_.node("a");
  pool_.chooser("b");
  EXPECT_EQ(pool_.seen().choices, (std::vector<Bytes>{"", ""}));  // somebody chooses, and a worker
  pool_.running("k");
  pool_.append(pool_.choice("k", "a"));
  pool_.started("k");
  pool_.crash(first);
  EXPECT_EQ(pool_.seen().choices, std::vector<Bytes>{""});
  EXPECT_EQ(pool_.state("k"), JobState::queued);
  pool_.append(pool_.choice("k", "a"));
  EXPECT_EQ(pool_.state("k"), JobState::queued) << "the worker has gone";
  pool_.append(pool_.choice("k", "b"));
  EXPECT_EQ(pool_.holder("k"), "b");
}

TEST_F(Chosen, AChoiceForOtherWorkersIsVoid) {
  pool_.chooser("a");
  pool_.node("b");
  pool_.running("k");
  const v1::Record choice = pool_.choice("k", "a");
  pool_.node("c");
  pool_.append(choice);
  EXPECT_EQ(pool_.refused(), 1U + 1U) << "the start of what was not granted, and the choice";
  EXPECT_EQ(pool_.holder("k"), "");
  pool_.append(pool_.choice("k", "a"));
  EXPECT_EQ(pool_.holder("k"), "a");
}

TEST_F(Chosen, OnlyTheEldestThatCanChooses) {
  pool_.node("a");
  const std::uint64_t elder = pool_.chooser("b");
  const std::uint64_t younger = pool_.chooser("c");
  pool_.resident("k");
  const std::uint64_t round = pool_.machine().choice_round();
  pool_.append({rec::choose("k", "a", pool_.session_of("a"), round), rec::choose("k", "a", younger, round),
                rec::choose("k", "a", 999, round), rec::choose("k", "a", 0, round)});
  EXPECT_EQ(pool_.refused(), 4U);
  pool_.append(rec::choose("k", "c", elder, round));
  EXPECT_EQ(pool_.holder("k"), "c");
  pool_.crash(elder);
  EXPECT_FALSE(pool_.seen().choices.empty()) << "another one chooses from here on";
  pool_.started("k");
  pool_.append(rec::choose("k", "a", younger, pool_.machine().choice_round()));
  EXPECT_EQ(target("k"), "a");
}

// A member without the function, or one that dies, leaves no key waiting.
TEST_F(Chosen, WhereNobodyCanChooseKeysArePlacedByRendezvous) {
  pool_.node("a");
  pool_.resident("k");
  EXPECT_EQ(pool_.holder("k"), "a");
  const std::uint64_t chooser = pool_.chooser("b");
  pool_.resident("l");
  EXPECT_EQ(pool_.state("l"), JobState::queued);
  pool_.crash(chooser);
  EXPECT_EQ(pool_.holder("l"), "a");
}

TEST_F(Chosen, AChooserThatOnlyLeavesItsWorkersGoesOnChoosing) {
  const std::uint64_t chooser = pool_.chooser("a");
  pool_.node("b");
  pool_.append(rec::remove_worker(chooser, "a"));
  pool_.resident("k");
  EXPECT_EQ(pool_.state("k"), JobState::queued);
  pool_.append(pool_.choice("k", "b"));
  EXPECT_EQ(pool_.holder("k"), "b");
}

// What is written where the function threw, or gave an index that is none.
TEST_F(Chosen, AChoiceOfNobodyMeansRendezvous) {
  pool_.chooser("a");
  pool_.node("b");
  TestPool plain;
  plain.node("a");
  plain.node("b");
  for (const char* key : {"k", "l", "m", "n"}) {
    pool_.resident(key);
    pool_.append(pool_.choice(key, ""));
    plain.resident(key);
    EXPECT_EQ(pool_.holder(key), plain.holder(key));
  }
}

TEST_F(Chosen, AServedKeyIsItsServersWhateverIsChosen) {
  pool_.chooser("a");
  pool_.node("b", {.serves = {"k"}});
  pool_.running("k");
  EXPECT_TRUE(pool_.info("k")->served);
  pool_.append(pool_.choice("k", "a"));
  EXPECT_EQ(pool_.refused(), 1U);
  EXPECT_EQ(pool_.state("k"), JobState::running);
  EXPECT_EQ(pool_.holder("k"), "b");
}

TEST_F(Chosen, AChoiceIsDueWhenAKeyIsServedNoMore) {
  pool_.chooser("a");
  const std::uint64_t server = pool_.node("b", {.serves = {"k"}});
  pool_.running("k");
  pool_.append(rec::serve(server, "b", {}, {"k"}));
  EXPECT_EQ(pool_.seen().choices, std::vector<Bytes>{"k"});
  EXPECT_EQ(pool_.holder("k"), "b") << "until the choice is made";
  EXPECT_FALSE(pool_.info("k")->served);
  pool_.append(pool_.choice("k", "a"));
  pool_.released("k");
  EXPECT_EQ(pool_.holder("k"), "a");
}

TEST_F(Chosen, ASnapshotKnowsWhoChoosesAndForWhom) {
  pool_.node("a");
  pool_.chooser("b");
  pool_.resident("k");
  Machine other;
  auto source = pool_.machine().begin_snapshot();
  std::vector<Bytes> chunks;
  while (auto chunk = source->next()) chunks.push_back(*chunk);
  source.reset();
  ASSERT_TRUE(other.restore(chunks));
  EXPECT_EQ(other.sessions().chooser, pool_.machine().sessions().chooser);
  EXPECT_EQ(other.choice_round(), pool_.machine().choice_round());
  EXPECT_EQ(other.state_digest(), pool_.machine().state_digest());
}

TEST(NotChosen, AChoiceIsRefusedWhereNobodyAskedForOne) {
  TestPool pool;
  pool.chooser("a");
  pool.running("k");
  pool.append(pool.choice("k", "a"));
  EXPECT_EQ(pool.refused(), 1U);
}

}  // namespace
}  // namespace tenure::test

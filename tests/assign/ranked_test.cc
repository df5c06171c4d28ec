// Which worker a partition belongs to: its primary, then the secondary with the fewest partitions, then the nearest
// one.

#include "assign/ranked.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenure {
namespace {

constexpr Ring kRing{.partitions = 5, .secondaries = 2};

std::size_t choose(const Ring& ring, std::uint32_t partition, const std::vector<RankedPlace>& places) {
  return ranked_choose(ring, partition, places);
}

TEST(Ranked, TheRingGoesRound) {
  EXPECT_EQ(rank_of(kRing, 3, 3), Rank::primary);
  EXPECT_EQ(rank_of(kRing, 3, 4), Rank::secondary);
  EXPECT_EQ(rank_of(kRing, 3, 0), Rank::secondary);
  EXPECT_EQ(rank_of(kRing, 3, 1), Rank::none);
  EXPECT_EQ(rank_of(kRing, 3, 2), Rank::none);
  EXPECT_EQ(ring_distance(kRing, 4, 0), 1U);
  EXPECT_EQ(ring_distance(kRing, 0, 4), 4U);
}

TEST(Ranked, NobodyOffTheRingHoldsAPartitionUnlessAnyoneMay) {
  EXPECT_EQ(rank_of(kRing, 3, 5), Rank::none);
  EXPECT_EQ(rank_of(kRing, 3, kNoOrdinal), Rank::none);
  EXPECT_EQ(rank_of(kRing, 5, 0), Rank::none);
  Ring open = kRing;
  open.anyone = true;
  EXPECT_EQ(rank_of(open, 3, kNoOrdinal), Rank::other);
  EXPECT_EQ(rank_of(open, 3, 2), Rank::other);
  EXPECT_EQ(rank_of(open, 5, 0), Rank::none);
}

TEST(Ranked, ThePrimaryGoesFirstWhateverItHas) { EXPECT_EQ(choose(kRing, 1, {{2, 0}, {1, 4}, {3, 0}}), 1U); }

TEST(Ranked, TheSecondaryWithTheFewestPartitionsGoesNext) {
  EXPECT_EQ(choose(kRing, 1, {{2, 2}, {3, 1}, {4, 0}}), 1U);
  EXPECT_EQ(choose(kRing, 4, {{0, 2}, {1, 1}}), 1U);
}

TEST(Ranked, OfTwoWithAsManyTheNearerOneGoesFirst) {
  EXPECT_EQ(choose(kRing, 4, {{1, 1}, {0, 1}}), 1U);
  EXPECT_EQ(choose(kRing, 4, {{0, 1}, {1, 1}}), 0U);
}

TEST(Ranked, OthersGoLastAndOnlyWhereAnyoneMay) {
  EXPECT_EQ(choose(kRing, 1, {{0, 0}, {4, 0}}), 2U);
  Ring open = kRing;
  open.anyone = true;
  EXPECT_EQ(choose(open, 1, {{0, 1}, {4, 0}, {3, 5}}), 2U);
  EXPECT_EQ(choose(open, 1, {{0, 1}, {4, 0}}), 1U);
  EXPECT_EQ(choose(open, 1, {{kNoOrdinal, 0}, {kNoOrdinal, 0}}), 0U);
  EXPECT_EQ(choose(open, 1, {}), 0U);
}

// Without secondaries, each partition has its own worker and no other.
TEST(Ranked, ARingWithoutSecondaries) {
  constexpr Ring kAlone{.partitions = 2};
  EXPECT_EQ(choose(kAlone, 0, {{1, 0}}), 1U);
  EXPECT_EQ(choose(kAlone, 1, {{0, 0}, {1, 0}}), 1U);
}

}  // namespace
}  // namespace tenure

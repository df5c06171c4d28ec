#include "assign/rendezvous.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tenure {
namespace {

// The values below are part of the log's meaning: a change here gives keys to other workers in logs already written.
TEST(RendezvousGolden, Draws) {
  struct Case {
    std::uint64_t key, seed, draw;
  };
  const std::vector<Case> cases = {
      {0x0000000000000000ULL, 0x0000000000000000ULL, 0xE7299DCD09E414D0ULL},
      {0x0000000000000000ULL, 0x0000000000000001ULL, 0x8CCFF722880A9AD3ULL},
      {0x0000000000000000ULL, 0xFEDCBA9876543210ULL, 0x5F49E5CB06D03A80ULL},
      {0x0000000000000000ULL, 0xFFFFFFFFFFFFFFFFULL, 0x40C97F33F2813080ULL},
      {0x0000000000000001ULL, 0x0000000000000000ULL, 0x08B22D1997B65831ULL},
      {0x0000000000000001ULL, 0x0000000000000001ULL, 0xA16F3568B21E9EC6ULL},
      {0x0000000000000001ULL, 0xFEDCBA9876543210ULL, 0x6E067C218D96C2C9ULL},
      {0x0000000000000001ULL, 0xFFFFFFFFFFFFFFFFULL, 0x385471D046EE9C58ULL},
      {0x0123456789ABCDEFULL, 0x0000000000000000ULL, 0x9187946744487CB8ULL},
      {0x0123456789ABCDEFULL, 0x0000000000000001ULL, 0xC11C9713B0FB8DE6ULL},
      {0x0123456789ABCDEFULL, 0xFEDCBA9876543210ULL, 0xE545689FB9117FC5ULL},
      {0x0123456789ABCDEFULL, 0xFFFFFFFFFFFFFFFFULL, 0xEAACF3F678A86BA3ULL},
      {0xFFFFFFFFFFFFFFFFULL, 0x0000000000000000ULL, 0xE0401CFAA58D1867ULL},
      {0xFFFFFFFFFFFFFFFFULL, 0x0000000000000001ULL, 0x88E3E471695864EAULL},
      {0xFFFFFFFFFFFFFFFFULL, 0xFEDCBA9876543210ULL, 0x6E5E33E91F665D8EULL},
      {0xFFFFFFFFFFFFFFFFULL, 0xFFFFFFFFFFFFFFFFULL, 0x99738EB79FA27C34ULL},
  };
  for (const auto& [key, seed, draw] : cases) EXPECT_EQ(rendezvous_draw(key, seed), draw) << key << " " << seed;
}

TEST(RendezvousGolden, Costs) {
  struct Case {
    std::uint64_t draw, cost;
  };
  const std::vector<Case> cases = {
      {0x0000000000000000ULL, 0x40000000000000ULL},
      {0x0000000000000001ULL, 0x40000000000000ULL},
      {0x0000000000000002ULL, 0x3F000000000000ULL},
      {0x0000000000000003ULL, 0x3E6A3FE5C6042AULL},
      {0x00000000000F4243ULL, 0x2C118470489892ULL},
      {0x0123456789ABCDEFULL, 0x7D053F6D626A9ULL},
      {0x7FFFFFFFFFFFFFFFULL, 0x1000000000001ULL},
      {0x8000000000000000ULL, 0x1000000000000ULL},
      {0x8000000000000001ULL, 0x1000000000000ULL},
      {0xB504F333F9DE6484ULL, 0x80000000BE90ULL},
      {0xFEDCBA9876543210ULL, 0x1A526E72CF6ULL},
      {0xFFFFFFFFFFFF0000ULL, 0x2ULL},
      {0xFFFFFFFFFFFFFFFEULL, 0x1ULL},
      {0xFFFFFFFFFFFFFFFFULL, 0x1ULL},
  };
  for (const auto& [draw, cost] : cases) EXPECT_EQ(rendezvous_cost(draw), cost) << draw;
}

// Sixteen places, of one weight and of weights from 1 to 9901: the first choices in full, ten thousand as a digest.
TEST(RendezvousGolden, Choices) {
  std::vector<Place> equal;
  std::vector<Place> weighted;
  for (std::uint32_t i = 0; i < 16; ++i) {
    equal.push_back({rendezvous_mix(i + 1), kWeightDefault});
    weighted.push_back({rendezvous_mix(i + 1), 1 + i * i * 44});
  }
  const std::vector<std::size_t> equal_choices = {11, 4, 5,  12, 0, 7,  12, 10, 12, 13, 9, 7, 15, 6, 4,  5,
                                                  11, 6, 15, 2,  8, 15, 5,  14, 11, 12, 0, 6, 0,  7, 14, 12};
  const std::vector<std::size_t> weighted_choices = {11, 10, 10, 12, 9, 7,  12, 10, 12, 13, 14, 15, 15, 10, 4,  12,
                                                     11, 6,  15, 13, 8, 15, 14, 14, 11, 13, 10, 10, 15, 7,  14, 12};
  for (std::size_t i = 0; i < equal_choices.size(); ++i) {
    EXPECT_EQ(rendezvous_choose(rendezvous_mix(1000 + i), equal), equal_choices[i]) << i;
    EXPECT_EQ(rendezvous_choose(rendezvous_mix(1000 + i), weighted), weighted_choices[i]) << i;
  }
  std::uint64_t equal_digest = 0;
  std::uint64_t weighted_digest = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    equal_digest = rendezvous_mix(equal_digest ^ rendezvous_choose(rendezvous_mix(i), equal));
    weighted_digest = rendezvous_mix(weighted_digest ^ rendezvous_choose(rendezvous_mix(i), weighted));
  }
  EXPECT_EQ(equal_digest, 0x489FFED80D8FA58FULL);
  EXPECT_EQ(weighted_digest, 0x7809B3CB37C83A7EULL);
}

// A draw is worth its logarithm: within a part in 10^6 of what long double says, and close to the last bit near 0.
TEST(RendezvousCost, IsTheLogarithm) {
  const auto unit = static_cast<long double>(1ULL << 48);
  for (std::uint64_t i = 1; i < 200'000; ++i) {
    std::uint64_t draw = rendezvous_mix(i) >> (i % 64);
    if (i % 2 != 0) draw = ~draw;  // Draws close to 2^64 are the ones that win.
    if (draw == 0) draw = 1;
    const long double exact = 64 - std::log2(static_cast<long double>(draw));
    const long double cost = static_cast<long double>(rendezvous_cost(draw)) / unit;
    ASSERT_NEAR(static_cast<double>(cost), static_cast<double>(exact), static_cast<double>(exact * 1e-6L + 4 / unit))
        << draw;
  }
}

// Every cost is above 0, so that weight always counts, and none above 64.
TEST(RendezvousCost, StaysInItsRange) {
  EXPECT_GT(rendezvous_cost(~0ULL), 0U);
  EXPECT_EQ(rendezvous_cost(1), 64ULL << 48);
  EXPECT_EQ(rendezvous_cost(0), rendezvous_cost(1));
  EXPECT_EQ(rendezvous_cost(1ULL << 63), 1ULL << 48);
}

// Flipping any one bit of key or seed flips each bit of the draw half of the time, also for keys and seeds that are
// small numbers: 2000 trials a pair of bits, each within five standard deviations.
TEST(RendezvousDraw, EveryInputBitReachesEveryOutputBit) {
  constexpr int kTrials = 2000;
  for (unsigned flipped = 0; flipped < 128; ++flipped) {
    std::array<int, 64> flips{};
    for (std::uint64_t i = 0; i < kTrials; ++i) {
      const std::uint64_t key = 3 * i;
      const std::uint64_t seed = 5 * i;
      const std::uint64_t key_flip = flipped < 64 ? 1ULL << flipped : 0;
      const std::uint64_t seed_flip = flipped < 64 ? 0 : 1ULL << (flipped - 64);
      const std::uint64_t changed = rendezvous_draw(key, seed) ^ rendezvous_draw(key ^ key_flip, seed ^ seed_flip);
      for (unsigned bit = 0; bit < 64; ++bit) flips[bit] += static_cast<int>(changed >> bit & 1);
    }
    for (unsigned bit = 0; bit < 64; ++bit) {
      EXPECT_NEAR(flips[bit], kTrials / 2.0, 5 * std::sqrt(kTrials) / 2) << "input " << flipped << ", output " << bit;
    }
  }
}

// Ties: draws of different seeds are never equal; of two places with one seed the heavier is preferred, and a place
// is not preferred over itself.
TEST(RendezvousPrefers, DecidesTies) {
  const Place light{7, 1};
  const Place heavy{7, 2};
  for (std::uint64_t key = 0; key < 1000; ++key) {
    EXPECT_FALSE(rendezvous_prefers(key, light, light));
    EXPECT_FALSE(rendezvous_prefers(key, light, heavy));
    EXPECT_TRUE(rendezvous_prefers(key, heavy, light));
  }
  // Draws this close have one cost, and the larger draw wins whichever of the equal weights is asked first.
  const std::uint64_t draw = 1ULL << 63;
  EXPECT_EQ(rendezvous_cost(draw), rendezvous_cost(draw + 1));
  EXPECT_TRUE(rendezvous_beats(draw + 1, 5, draw, 5));
  EXPECT_FALSE(rendezvous_beats(draw, 5, draw + 1, 5));
  // 2^63 costs 1 and 2^62 costs 2: at weights 1 and 2 that is a tie of unequal weights.
  EXPECT_TRUE(rendezvous_beats(draw, 1, draw / 2, 2));
  EXPECT_FALSE(rendezvous_beats(draw / 2, 2, draw, 1));
}

TEST(RendezvousChoose, NamesNoPlaceWhereThereIsNone) {
  EXPECT_EQ(rendezvous_choose(1, {}), 0U);
  const std::array<Place, 1> one{Place{5, kWeightDefault}};
  EXPECT_EQ(rendezvous_choose(1, one), 0U);
}

// A place of weight 0 is the last resort; among several of them the draw decides.
TEST(RendezvousChoose, LeavesWeightZeroToTheLast) {
  const std::array<Place, 3> drained{Place{1, 0}, Place{2, 1}, Place{3, 0}};
  for (std::uint64_t key = 0; key < 1000; ++key) EXPECT_EQ(rendezvous_choose(key, drained), 1U);
  const std::array<Place, 2> all_drained{Place{1, 0}, Place{2, 0}};
  EXPECT_EQ(rendezvous_choose(9, all_drained), rendezvous_draw(9, 1) > rendezvous_draw(9, 2) ? 0U : 1U);
}

}  // namespace
}  // namespace tenure

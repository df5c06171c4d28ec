#include "assign/jump.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <vector>

#include "assign/rendezvous.h"

namespace tenure {
namespace {

// The algorithm as published, in double arithmetic.
std::int32_t published_jump(std::uint64_t key, std::int32_t buckets) {
  std::int64_t b = -1;
  std::int64_t j = 0;
  while (j < buckets) {
    b = j;
    key = key * 2862933555777941757ULL + 1;
    const double quotient = static_cast<double>(1LL << 31) / static_cast<double>((key >> 33) + 1);
    j = static_cast<std::int64_t>(static_cast<double>(b + 1) * quotient);
  }
  return static_cast<std::int32_t>(b);
}

std::uint32_t jump_without_rounding(std::uint64_t key, std::uint32_t buckets) {
  std::uint64_t bucket = 0;
  std::uint64_t next = 0;
  while (next < buckets) {
    bucket = next;
    key = key * 2862933555777941757ULL + 1;
    next = ((bucket + 1) << 31) / ((key >> 33) + 1);
  }
  return static_cast<std::uint32_t>(bucket);
}

// The values are part of the log's meaning and must never change.
TEST(JumpGolden, Choices) {
  struct Case {
    std::uint64_t key;
    std::uint32_t buckets, choice;
  };
  const std::vector<Case> cases = {
      {0x0000000000000000ULL, 1, 0},      {0x0000000000000000ULL, 2, 0},
      {0x0000000000000000ULL, 10, 0},     {0x0000000000000000ULL, 100, 0},
      {0x0000000000000000ULL, 1000, 0},   {0x0000000000000000ULL, 2147483647, 0},
      {0x0000000000000001ULL, 1, 0},      {0x0000000000000001ULL, 2, 0},
      {0x0000000000000001ULL, 10, 6},     {0x0000000000000001ULL, 100, 55},
      {0x0000000000000001ULL, 1000, 549}, {0x0000000000000001ULL, 2147483647, 262355607},
      {0x000000000000000AULL, 1, 0},      {0x000000000000000AULL, 2, 1},
      {0x000000000000000AULL, 10, 7},     {0x000000000000000AULL, 100, 73},
      {0x000000000000000AULL, 1000, 751}, {0x000000000000000AULL, 2147483647, 2129077723},
      {0xFFFFFFFFFFFFFFFFULL, 1, 0},      {0xFFFFFFFFFFFFFFFFULL, 2, 1},
      {0xFFFFFFFFFFFFFFFFULL, 10, 9},     {0xFFFFFFFFFFFFFFFFULL, 100, 92},
      {0xFFFFFFFFFFFFFFFFULL, 1000, 313}, {0xFFFFFFFFFFFFFFFFULL, 2147483647, 699554662},
      {0x0123456789ABCDEFULL, 1, 0},      {0x0123456789ABCDEFULL, 2, 0},
      {0x0123456789ABCDEFULL, 10, 0},     {0x0123456789ABCDEFULL, 100, 57},
      {0x0123456789ABCDEFULL, 1000, 194}, {0x0123456789ABCDEFULL, 2147483647, 1651575352},
  };
  for (const auto& [key, buckets, choice] : cases) EXPECT_EQ(jump_choose(key, buckets), choice) << key;
  std::uint64_t digest = 0;
  for (std::uint32_t i = 0; i < 10'000; ++i) digest = rendezvous_mix(digest ^ jump_choose(rendezvous_mix(i), i + 1));
  EXPECT_EQ(digest, 0x6DF9FF1B81890DF2ULL);
}

TEST(Jump, HasNoBucketAmongNone) { EXPECT_EQ(jump_choose(123, 0), 0U); }

// Keys at which exact integer division departs from the published algorithm, whose rounded quotient falls short of a
// whole number: the reason for rounding as it does.
TEST(Jump, RoundsAsPublished) {
  struct Case {
    std::uint64_t key;
    std::uint32_t buckets;
  };
  for (const auto& [key, buckets] : {Case{1463767580495696139ULL, 1U << 20}, Case{6455976515219049556ULL, 1U << 21},
                                     Case{9857068536169212780ULL, 1U << 27}}) {
    EXPECT_EQ(jump_choose(key, buckets), buckets - 1);
    EXPECT_EQ(published_jump(key, static_cast<std::int32_t>(buckets)), static_cast<std::int32_t>(buckets - 1));
    EXPECT_EQ(jump_without_rounding(key, buckets), 48U);
  }
}

// Counts of every size, from a handful of workers to the largest the published algorithm takes.
rc::Gen<std::int32_t> bucket_counts() {
  return rc::gen::apply([](std::uint32_t word, int shift) { return static_cast<std::int32_t>(word >> shift | 1); },
                        rc::gen::arbitrary<std::uint32_t>(), rc::gen::inRange(1, 32));
}

RC_GTEST_PROP(JumpProperty, AgreesWithThePublishedAlgorithm, ()) {
  for (int i = 0; i < 200; ++i) {
    const auto key = *rc::gen::arbitrary<std::uint64_t>();
    const auto buckets = *bucket_counts();
    RC_ASSERT(jump_choose(key, static_cast<std::uint32_t>(buckets)) ==
              static_cast<std::uint32_t>(published_jump(key, buckets)));
  }
}

// The single step, over all sizes of its two operands and not only those of random keys.
RC_GTEST_PROP(JumpProperty, StepAgreesWithDoubleArithmetic, ()) {
  const auto operands = rc::gen::apply([](std::uint32_t word, int shift) { return std::uint64_t{1} + (word >> shift); },
                                       rc::gen::arbitrary<std::uint32_t>(), rc::gen::inRange(1, 32));
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t divisor = *operands;
    const std::uint64_t factor = *operands;
    const double quotient = static_cast<double>(1LL << 31) / static_cast<double>(divisor);
    const auto published = static_cast<std::uint64_t>(static_cast<double>(factor) * quotient);
    RC_ASSERT(jump_detail::multiply(factor, jump_detail::divide(divisor)) == published);
  }
}

RC_GTEST_PROP(JumpProperty, GrowthMovesKeysOnlyToTheNewBucket, ()) {
  const auto buckets = *rc::gen::inRange<std::uint32_t>(1, 10'000);
  for (int i = 0; i < 200; ++i) {
    const auto key = *rc::gen::arbitrary<std::uint64_t>();
    const std::uint32_t before = jump_choose(key, buckets);
    const std::uint32_t after = jump_choose(key, buckets + 1);
    RC_ASSERT(before < buckets);
    RC_ASSERT(after == before || after == buckets);
  }
}

}  // namespace
}  // namespace tenure

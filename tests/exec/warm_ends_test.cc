#include "exec/warm_ends.h"

#include <gtest/gtest.h>

namespace tenure::exec {
namespace {

constexpr Instant kNow{std::chrono::hours(1)};

HeldJob task(std::uint64_t epoch) {
  HeldJob job;
  job.hold.epoch = epoch;
  return job;
}

// Nobody waits for a program: an end that was held back would be nothing but late.
TEST(WarmEnds, AreToldAtOnceWhereNothingWaits) {
  WarmEnds ends;
  EXPECT_FALSE(ends.ripe(0, kNow));
  ends.add(task(1), {}, kNow);
  EXPECT_TRUE(ends.ripe(0, kNow));
  EXPECT_TRUE(ends.ripe(1, kNow));
}

// They wait for as many others as possible, but only for a limited time, and are reported in order.
TEST(WarmEnds, WaitForOthersForAWhile) {
  WarmEnds ends;
  ends.add(task(1), {}, kNow);
  EXPECT_FALSE(ends.ripe(2, kNow));
  ends.add(task(2), {}, kNow + kWarmEndWait / 2);
  EXPECT_TRUE(ends.ripe(2, kNow + kWarmEndWait / 2));
  EXPECT_FALSE(ends.ripe(3, kNow + kWarmEndWait / 2));
  EXPECT_TRUE(ends.ripe(1000, kNow + kWarmEndWait));
  const auto taken = ends.take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].job.hold.epoch, 1U);
  EXPECT_TRUE(ends.empty());
  ends.add(task(3), {}, kNow + 2 * kWarmEndWait);
  EXPECT_FALSE(ends.ripe(1000, kNow + 2 * kWarmEndWait));
}

TEST(WarmEnds, AreNoMoreThanSoMany) {
  WarmEnds ends;
  for (std::size_t i = 1; i < kWarmEndsMax; ++i) ends.add(task(i), {}, kNow);
  EXPECT_FALSE(ends.ripe(1000, kNow));
  ends.add(task(kWarmEndsMax), {}, kNow);
  EXPECT_TRUE(ends.ripe(1000, kNow));
}

}  // namespace
}  // namespace tenure::exec

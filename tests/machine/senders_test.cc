// A batch whose answer was lost is sent again under its number, and counts once.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

constexpr std::uint64_t kOther = 4711;

// True if the batch was applied: a session joins under a number of its own each time.
bool applies(TestPool& pool, std::uint64_t sender, std::uint64_t sequence) {
  static std::uint64_t session = 1'000;
  pool.append_as(sender, sequence, {rec::join(++session)});
  const bool applied = pool.alive(session);
  if (applied) pool.leave(session);
  return applied;
}

TEST(Senders, ARepetitionCountsOnce) {
  TestPool pool;
  EXPECT_TRUE(applies(pool, kOther, 1));
  EXPECT_FALSE(applies(pool, kOther, 1));
  EXPECT_TRUE(applies(pool, kOther, 2));
  EXPECT_FALSE(applies(pool, kOther, 1));
  EXPECT_EQ(pool.machine().stats().batches_repeated, 2U);
}

TEST(Senders, EachSenderCountsForItself) {
  TestPool pool;
  EXPECT_TRUE(applies(pool, 1, 1));
  EXPECT_TRUE(applies(pool, 2, 1));
  EXPECT_FALSE(applies(pool, 1, 1));
}

TEST(Senders, BatchesMayComeOutOfOrderWithinTheWindow) {
  TestPool pool;
  EXPECT_TRUE(applies(pool, kOther, 64));
  for (std::uint64_t sequence = 63; sequence >= 1; --sequence) EXPECT_TRUE(applies(pool, kOther, sequence));
  for (std::uint64_t sequence = 1; sequence <= 64; ++sequence) EXPECT_FALSE(applies(pool, kOther, sequence));
}

TEST(Senders, WhatIsTooFarBackToTellCountsAsSeen) {
  TestPool pool;
  EXPECT_TRUE(applies(pool, kOther, 100));
  EXPECT_FALSE(applies(pool, kOther, 100 - kInFlightMax));
  EXPECT_TRUE(applies(pool, kOther, 100 - kInFlightMax + 1));
  EXPECT_TRUE(applies(pool, kOther, 1'000));
  EXPECT_FALSE(applies(pool, kOther, 100));
  EXPECT_TRUE(applies(pool, kOther, 999));
}

TEST(Senders, AStepOfTheWholeWindowForgetsNothingItCouldMix) {
  TestPool pool;
  EXPECT_TRUE(applies(pool, kOther, 1));
  EXPECT_TRUE(applies(pool, kOther, 64));
  EXPECT_FALSE(applies(pool, kOther, 1));
  EXPECT_TRUE(applies(pool, kOther, 65));
  EXPECT_FALSE(applies(pool, kOther, 1));
  EXPECT_TRUE(applies(pool, kOther, 65 + 64));
  EXPECT_FALSE(applies(pool, kOther, 65));
  EXPECT_TRUE(applies(pool, kOther, 66));
}

// Much longer than a sender may resend, and measured in log time, which is never ahead.
TEST(Senders, ASilentSenderIsForgottenAfterTheKeepTime) {
  TestPool pool;
  EXPECT_TRUE(applies(pool, kOther, 5));
  pool.pass(kSenderKeepMs - 1'000);
  EXPECT_FALSE(applies(pool, kOther, 5)) << "and this counts as a sign of life";
  pool.pass(kSenderKeepMs - 1'000);
  EXPECT_FALSE(applies(pool, kOther, 5));
  pool.pass(kSenderKeepMs);
  EXPECT_EQ(image_of(pool.machine()).global.frame().senders_size(), 1);
  EXPECT_TRUE(applies(pool, kOther, 5));
}

TEST(Senders, AnHourOfTheEnginesClockForgetsNobody) {
  TestPool pool;
  EXPECT_TRUE(applies(pool, kOther, 5));
  pool.jump(3'600'000);
  EXPECT_FALSE(applies(pool, kOther, 5));
}

}  // namespace
}  // namespace tenure::test

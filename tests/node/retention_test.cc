// How much of a log may be trimmed, given what its members have read and its size.

#include "node/retention.h"

#include <gtest/gtest.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kLease = 10s;
constexpr std::uint64_t kMiB = 1U << 20;

class RetentionTest : public testing::Test {
 protected:
  // So many MiB have been applied, and all members have read up to `read`.
  static Retention::Members members(std::uint64_t mib, Position read) {
    return {.lease = kLease, .read_by_all = read, .log_bytes = mib * kMiB};
  }
  void saved(Position position, std::uint64_t mib) { retention_.note_saved(position, mib * kMiB, now_); }
  std::optional<Position> trim(const Retention::Members& pool) { return retention_.take_trim(pool, now_); }

  Instant now_{1h};
  Retention retention_;
};

TEST_F(RetentionTest, ALightLogKeepsWhatAnyMemberMayNeedForALeaseAndAQuarter) {
  saved(100, 4);
  EXPECT_EQ(trim(members(5, 200)), std::nullopt);
  const auto next = retention_.next(members(5, 200));
  ASSERT_TRUE(next);
  EXPECT_EQ(*next - now_, kLease * 5 / 4);
  now_ = *next;
  EXPECT_EQ(trim(members(5, 0)), 100U);
  EXPECT_EQ(retention_.next(members(5, 0)), std::nullopt) << "nothing is left to trim";
}

TEST_F(RetentionTest, AHeavyLogGoesUpToWhatAllHaveRead) {
  saved(100, 10);
  saved(200, 40);
  EXPECT_EQ(trim(members(80, 99)), std::nullopt) << "a member has not read up to the snapshot";
  EXPECT_EQ(trim(members(80, 150)), 100U) << "behind the first lie 70 MiB, and all have read it";
  EXPECT_EQ(trim(members(85, 250)), std::nullopt) << "what is young stays while there is room";
  now_ = now_ + Retention::kRecent;
  EXPECT_EQ(trim(members(85, 250)), 200U);
}

TEST_F(RetentionTest, ATailStaysForThoseWhoAreNoMembers) {
  saved(100, 10);
  now_ = now_ + Retention::kRecent;
  EXPECT_EQ(trim(members(10 + 16, 150)), std::nullopt);
  EXPECT_EQ(trim(members(10 + 17, 150)), 100U);
}

// It is cut off, learns that from its read, and starts over.
TEST_F(RetentionTest, AMemberThatIsVeryFarBehindHoldsUpNobody) {
  saved(100, 10);
  EXPECT_EQ(trim(members(10 + 256, 0)), std::nullopt);
  EXPECT_EQ(trim(members(10 + 257, 0)), 100U);
}

TEST_F(RetentionTest, ATrimIsTakenOnceAndOnlyForward) {
  saved(100, 10);
  EXPECT_EQ(trim(members(100, 150)), 100U);
  EXPECT_EQ(trim(members(200, 150)), std::nullopt);
  saved(50, 5);
  EXPECT_EQ(trim(members(300, 150)), std::nullopt);
}

TEST_F(RetentionTest, AMissingSnapshotIsOneThatWasStoredAndIsNotFound) {
  EXPECT_FALSE(retention_.misses(0, now_)) << "none was ever stored";
  saved(100, 1);
  EXPECT_FALSE(retention_.misses(0, now_)) << "it has just been stored, and the look may be older";
  now_ = now_ + 1s;
  EXPECT_TRUE(retention_.misses(0, now_));
  EXPECT_TRUE(retention_.misses(99, now_));
  EXPECT_FALSE(retention_.misses(100, now_));
  EXPECT_FALSE(retention_.misses(101, now_)) << "another member has stored a newer one";
}

}  // namespace
}  // namespace tenure

// A node that differs from all others is wrong. If two sides are equal, the eldest member counts as right.

#include "node/digest_comparison.h"

#include <gtest/gtest.h>

namespace tenure {
namespace {

constexpr std::uint64_t kOwn = 1;

TEST(DigestComparison, TheManyAreRight) {
  DigestComparison digests;
  digests.note(2, false);
  digests.note(3, false);
  EXPECT_TRUE(digests.outvoted(kOwn, kOwn));
  digests.note(4, true);
  digests.note(5, true);
  EXPECT_FALSE(digests.outvoted(kOwn, 2));
}

TEST(DigestComparison, OfTwoEqualSidesTheEldestsIsRight) {
  DigestComparison digests;
  digests.note(2, false);
  EXPECT_TRUE(digests.outvoted(kOwn, 2));
  EXPECT_FALSE(digests.outvoted(kOwn, kOwn));
  digests.note(3, true);
  digests.note(4, false);
  EXPECT_FALSE(digests.outvoted(kOwn, 3));
  EXPECT_TRUE(digests.outvoted(kOwn, 4));
}

TEST(DigestComparison, TheLastDigestCounts) {
  DigestComparison digests;
  digests.note(2, false);
  digests.note(2, true);
  EXPECT_FALSE(digests.outvoted(kOwn, 2));
  digests.note(3, false);
  digests.note(4, false);
  digests.forget(3);
  EXPECT_FALSE(digests.outvoted(kOwn, 2));
  digests.clear();
  EXPECT_FALSE(digests.outvoted(kOwn, 2));
}

}  // namespace
}  // namespace tenure

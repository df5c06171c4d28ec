#include "base/backoff.h"

#include <gtest/gtest.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;

// Spans grow to the cap, stay within [half, whole], and start over after a reset.
TEST(Backoff, GrowsWithinBounds) {
  SeededEntropy entropy(7);
  Backoff backoff(10ms, 1s, entropy);
  Nanos whole = 10ms;
  for (int i = 0; i < 20; ++i) {
    const Nanos span = backoff.next();
    EXPECT_GE(span, whole / 2);
    EXPECT_LE(span, whole + Nanos(1));
    whole = std::min<Nanos>(whole * 2, 1s);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), Nanos(10ms) + Nanos(1));
}

}  // namespace
}  // namespace tenure

#include "faults/wall_drift.h"

#include <gtest/gtest.h>

namespace tenure::faults {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kApart = 1'000'000 * kMs;  // of the clocks, in the beginning

// Clocks that keep pace need no correction.
TEST(WallDrift, LeavesSteadyTimesAlone) {
  WallDrift drift;
  EXPECT_EQ(drift.steady_ns(kApart), kApart);
  for (std::int64_t boot = 0; boot < 1000 * kMs; boot += 10 * kMs) drift.look(kApart + boot, boot);
  EXPECT_EQ(drift.steady_ns(kApart + 500 * kMs), kApart + 500 * kMs);
}

// A wall clock that gains 5 ms a second: what it showed is taken back to the pace of the other, whenever it is asked.
TEST(WallDrift, FollowsAClockThatIsBeingSet) {
  WallDrift drift;
  const auto wall = [](std::int64_t boot) { return kApart + boot + boot / 200; };
  for (std::int64_t boot = 0; boot <= 10'000 * kMs; boot += 10 * kMs) drift.look(wall(boot), boot);
  for (std::int64_t boot = 0; boot <= 10'000 * kMs; boot += 777 * kMs) {
    EXPECT_NEAR(static_cast<double>(drift.steady_ns(wall(boot))), static_cast<double>(kApart + boot), 0.2 * kMs);
  }
}

// One that is set forward at once.
TEST(WallDrift, FollowsAClockThatJumps) {
  WallDrift drift;
  drift.look(kApart, 0);
  drift.look(kApart + 490 * kMs, 490 * kMs);
  drift.look(kApart + 900 * kMs, 500 * kMs);
  EXPECT_EQ(drift.steady_ns(kApart + 495 * kMs), kApart + 495 * kMs);
  EXPECT_EQ(drift.steady_ns(kApart + 1000 * kMs), kApart + 600 * kMs);
}

// One that is set back.
TEST(WallDrift, FollowsAClockThatIsSetBack) {
  WallDrift drift;
  drift.look(kApart, 0);
  drift.look(kApart + 600 * kMs, 500 * kMs);
  drift.look(kApart + 400 * kMs, 510 * kMs);
  EXPECT_EQ(drift.steady_ns(kApart + 410 * kMs), kApart + 520 * kMs);
}

}  // namespace
}  // namespace tenure::faults

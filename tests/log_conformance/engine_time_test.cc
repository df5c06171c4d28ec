#include "log/engine_time.h"

#include <gtest/gtest.h>

namespace tenure {
namespace {

constexpr std::int64_t kWall = 1'700'000'000'000;

// Within a boot only CLOCK_BOOTTIME counts: the wall clock is not even asked.
TEST(EngineTime, FollowsTheBootClockOnTheScaleOfTheWallClock) {
  const std::int64_t offset = engine_time_offset_ms(0, kWall, 5'000);
  EXPECT_EQ(engine_time_ms(0, offset, 5'000), kWall);
  EXPECT_EQ(engine_time_ms(kWall, offset, 6'000), kWall + 1'000);
}

// A new boot starts the clock at nearly zero. A wall clock that was set back meanwhile must not take the log with it.
TEST(EngineTime, NeverGoesBackAcrossABoot) {
  const std::int64_t last = kWall + 1'000'000;
  const std::int64_t honest = engine_time_offset_ms(last, last + 60'000, 10);
  EXPECT_EQ(engine_time_ms(last, honest, 10), last + 60'000);
  const std::int64_t set_back = engine_time_offset_ms(last, kWall - 3'600'000, 10);
  EXPECT_EQ(engine_time_ms(last, set_back, 10), last);
  EXPECT_EQ(engine_time_ms(last, set_back, 510), last + 500);
}

// Another process may have given a later time than this one would.
TEST(EngineTime, NeverFallsBehindTheLastEntry) { EXPECT_EQ(engine_time_ms(9'000, 0, 8'000), 9'000); }

}  // namespace
}  // namespace tenure

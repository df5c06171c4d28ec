#include "guard/wear.h"

#include <gtest/gtest.h>

#include <set>

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;
using Found = Judgement::What;

constexpr Instant kBegin{1h};

Found what(const WearLimits& limits, const Worn& worn, Nanos later = 0s) {
  return judge(limits, worn, kBegin + later, "task").what;
}

TEST(Wear, WithoutLimitsEverythingIsFit) {
  const Worn old{.started = kBegin, .busy_since = kBegin, .free_since = {}, .jobs = 1U << 30, .memory_bytes = 1U << 30};
  const Judgement judgement = judge({}, old, kBegin + 1000h, "task");
  EXPECT_EQ(judgement.what, Found::fit);
  EXPECT_EQ(judgement.left, Nanos::max());
  EXPECT_FALSE(WearLimits{}.any());
}

TEST(Wear, SoftLimitsWearOut) {
  Worn worn{.started = kBegin, .busy_since = {}, .free_since = kBegin, .jobs = 9, .memory_bytes = 100};
  WearLimits jobs;
  jobs.jobs = 10;
  EXPECT_EQ(what(jobs, worn), Found::fit);
  worn.jobs = 10;
  EXPECT_EQ(judge(jobs, worn, kBegin, "task").why, "it has served 10 tasks");
  WearLimits age;
  age.age = 5s;
  EXPECT_EQ(what(age, worn, 4s), Found::fit);
  EXPECT_EQ(what(age, worn, 5s), Found::worn_out);
  WearLimits idle;
  idle.idle = 5s;
  EXPECT_EQ(judge(idle, worn, kBegin + 4s, "task").left, 1s);
  EXPECT_EQ(what(idle, worn, 5s), Found::worn_out);
  worn.free_since.reset();
  EXPECT_EQ(what(idle, worn, 50s), Found::fit);
  WearLimits memory;
  memory.memory_bytes = 100;
  EXPECT_EQ(what(memory, worn), Found::fit);
  worn.memory_bytes = 101;
  EXPECT_EQ(judge(memory, worn, kBegin, "task").why, "it uses 101 bytes of memory");
  EXPECT_TRUE(memory.weighs() && memory.any());
}

TEST(Wear, HardLimitsKill) {
  const Worn worn{.started = kBegin, .busy_since = kBegin + 1s, .free_since = {}, .jobs = 0, .memory_bytes = 101};
  WearLimits age;
  age.age_hard = 5s;
  EXPECT_EQ(what(age, worn, 5s), Found::killed);
  WearLimits time;
  time.job_time = 300ms;
  EXPECT_EQ(judge(time, worn, kBegin + 1100ms, "task").left, 200ms);
  EXPECT_EQ(judge(time, worn, kBegin + 1300ms, "call").why, "a call took longer than 300 ms");
  EXPECT_EQ(what(time, worn, 1300ms), Found::overdue);
  EXPECT_EQ(judge(time, {.started = kBegin}, kBegin + 9s, "task").left, 300ms);  // a task may begin now
  WearLimits memory;
  memory.memory_bytes_hard = 100;
  EXPECT_EQ(what(memory, worn), Found::killed);
}

// One that is worn out and still busy is not forgotten: its hard limits are due as before.
TEST(Wear, WhoIsWornOutIsStillWatched) {
  const Worn worn{.started = kBegin, .busy_since = kBegin, .free_since = {}, .jobs = 7};
  WearLimits limits;
  limits.jobs = 1;
  limits.job_time = 10s;
  const Judgement judgement = judge(limits, worn, kBegin + 4s, "task");
  EXPECT_EQ(judgement.what, Found::worn_out);
  EXPECT_EQ(judgement.left, 6s);
}

TEST(Wear, LimitsAreDrawnForEachProgram) {
  WearLimits limits;
  limits.jobs = 1000;
  limits.age = 1000s;
  limits.jitter = 0.2;
  SeededEntropy entropy(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    const WearLimits drawn = limits.drawn(entropy);
    EXPECT_GE(drawn.jobs, 800U);
    EXPECT_LE(drawn.jobs, 1000U);
    EXPECT_GE(drawn.age, 800s);
    EXPECT_LE(drawn.age, 1000s);
    seen.insert(drawn.jobs);
  }
  EXPECT_GT(seen.size(), 50U);
}

}  // namespace
}  // namespace tenure::guard

// When jobs are short enough for one thread to run them all alone.

#include "pool/pace.h"

#include <gtest/gtest.h>

namespace tenure {
namespace {

class PaceTest : public testing::Test {
 protected:
  void run(std::uint64_t jobs, Nanos each) {
    for (std::uint64_t i = 0; i < jobs; ++i) {
      pace_.note_begin();
      clock_.advance(each);
      pace_.note_end(stretch_, clock_);
    }
  }

  static constexpr Nanos kQuickJob = Pace::kQuick / 2;

  VirtualClock clock_;
  Pace pace_;
  Pace::Stretch stretch_;
};

// Nobody knows how long the first jobs take.
TEST_F(PaceTest, IsNotBriskUntilAStretchWasQuick) {
  run(Pace::kStretch, kQuickJob);
  EXPECT_FALSE(pace_.brisk());
  run(1, kQuickJob);
  EXPECT_TRUE(pace_.brisk());
}

TEST_F(PaceTest, JobsThatAreWorthAThreadAreNotBrisk) {
  run(10 * Pace::kStretch, Pace::kQuick);
  EXPECT_FALSE(pace_.brisk());
}

// One that lasts among the others makes its stretch slow.
TEST_F(PaceTest, OneThatLastsEndsIt) {
  run(1 + Pace::kStretch, kQuickJob);
  run(Pace::kStretch - 1, kQuickJob);
  EXPECT_TRUE(pace_.brisk());
  run(1, Pace::kStretch * Pace::kQuick);
  EXPECT_FALSE(pace_.brisk());
  run(Pace::kStretch, kQuickJob);
  EXPECT_TRUE(pace_.brisk());
}

// How long a thread waited for work says nothing of the work: a new stretch begins after it.
TEST_F(PaceTest, PausesDoNotCount) {
  run(1, kQuickJob);
  for (int i = 0; i < Pace::kStretch; ++i) {
    pace_.note_pause(stretch_, clock_);
    clock_.advance(std::chrono::seconds(1));
    run(2, kQuickJob);
  }
  EXPECT_FALSE(pace_.brisk()) << "no stretch was long enough";
  run(Pace::kStretch, kQuickJob);
  EXPECT_TRUE(pace_.brisk());
}

// Jobs that come a few at a time make no stretch that could be judged; where they last that shows all the same.
TEST_F(PaceTest, AFewThatLastEndIt) {
  run(1 + Pace::kStretch, kQuickJob);
  pace_.note_pause(stretch_, clock_);
  run(3, kQuickJob);
  pace_.note_pause(stretch_, clock_);
  EXPECT_TRUE(pace_.brisk());
  run(3, Pace::kStretch * Pace::kQuick);
  pace_.note_pause(stretch_, clock_);
  EXPECT_FALSE(pace_.brisk());
}

// After one that was found to hold up the others, very many have to pass.
TEST_F(PaceTest, IsWaryAfterOneThatHeldUpTheOthers) {
  run(1 + Pace::kStretch, kQuickJob);
  pace_.note_stuck();
  EXPECT_FALSE(pace_.brisk());
  run(Pace::kWary - Pace::kStretch, kQuickJob);
  EXPECT_FALSE(pace_.brisk());
  run(2 * Pace::kStretch, kQuickJob);
  EXPECT_TRUE(pace_.brisk());
}

}  // namespace
}  // namespace tenure

// The policy gets invented durations: it finds the faster way, adapts when conditions change, does not spin for slow
// programs, and spends little on useless trials.

#include "process/spin_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenure::process {
namespace {

using Way = SpinPolicy::Way;
using std::chrono::microseconds;
using Nanos = std::chrono::nanoseconds;

// How long a wait takes in each way, as the machine is at the moment.
struct Machine {
  microseconds block;
  microseconds spin;
};

struct Outcome {
  int looks = 0;  // waits that looked
  Nanos took{0};  // by all waits
};

Outcome feed(SpinPolicy& policy, const Machine& machine, int waits) {
  Outcome result;
  for (int i = 0; i < waits; ++i) {
    const Way way = policy.next();
    const Nanos took = way == Way::spin ? machine.spin : machine.block;
    if (way == Way::spin) ++result.looks;
    result.took += took;
    policy.note(took);
  }
  return result;
}

constexpr int kSoon = 2 * SpinPolicy::kGapMin;
// Within this many waits whatever has changed was noticed: the longest gap, the trial, and then some.
constexpr int kLater = 2 * SpinPolicy::kGapMax;
constexpr Machine kDifferentCores{.block = microseconds(37), .spin = microseconds(10)};
constexpr Machine kOneCore{.block = microseconds(10), .spin = microseconds(60)};

TEST(SpinPolicy, LooksWhereThatIsQuicker) {
  SpinPolicy policy(true);
  EXPECT_EQ(policy.next(), Way::block);
  feed(policy, kDifferentCores, kSoon);
  EXPECT_EQ(policy.next(), Way::spin);
  const int waits = 100'000;
  const Outcome settled = feed(policy, kDifferentCores, waits);
  EXPECT_GE(settled.looks, waits * 98 / 100);
}

TEST(SpinPolicy, SleepsWhereThatIsQuicker) {
  SpinPolicy policy(true);
  feed(policy, kOneCore, kSoon);
  EXPECT_EQ(policy.next(), Way::block);
  EXPECT_LE(feed(policy, kOneCore, 100'000).looks, 500);
}

TEST(SpinPolicy, SleepsWhereLookingGainsLittle) {
  SpinPolicy policy(true);
  const Machine even{.block = microseconds(10), .spin = microseconds(9)};
  feed(policy, even, kSoon);
  EXPECT_LE(feed(policy, even, 100'000).looks, 1'000);
}

TEST(SpinPolicy, FollowsWhenConditionsChange) {
  SpinPolicy policy(true);
  for (int round = 0; round < 5; ++round) {
    feed(policy, kDifferentCores, kLater);
    EXPECT_EQ(feed(policy, kDifferentCores, 1).looks, 1) << round;
    feed(policy, kOneCore, kLater);
    EXPECT_EQ(feed(policy, kOneCore, 1).looks, 0) << round;
  }
}

// Looking that has become vain is given up in some waits, without a trial and however long the gap has grown.
TEST(SpinPolicy, GivesUpLookingInVainAtOnce) {
  SpinPolicy policy(true);
  feed(policy, kDifferentCores, 100'000);
  EXPECT_LE(feed(policy, {.block = microseconds(1'000), .spin = microseconds(1'050)}, 10'000).looks, 40);
}

// Sleeping that has become slower than looking was is noticed before the gap is over.
TEST(SpinPolicy, TriesAgainAtOnceWhatWasBetter) {
  SpinPolicy policy(true);
  feed(policy, {.block = microseconds(12), .spin = microseconds(11)}, 100'000);
  const Outcome then = feed(policy, kDifferentCores, 4 * SpinPolicy::kGapMin);
  EXPECT_GE(then.looks, SpinPolicy::kGapMin);
}

TEST(SpinPolicy, NeverLooksForSlowPrograms) {
  SpinPolicy policy(true);
  EXPECT_EQ(feed(policy, {.block = microseconds(150), .spin = microseconds(60)}, 100'000).looks, 0);
  EXPECT_EQ(feed(policy, {.block = microseconds(1'000'000), .spin = microseconds(1'000'050)}, 100'000).looks, 0);
}

TEST(SpinPolicy, NeverLooksWithoutASecondCore) {
  SpinPolicy policy(false);
  EXPECT_EQ(feed(policy, kDifferentCores, 100'000).looks, 0);
}

// Whatever the durations are, the waits are not much longer than if the better way were known: by some hundredths, and
// by what it takes to find out.
TEST(SpinPolicy, CostsLittleBeyondTheBetterWay) {
  for (const int block : {5, 10, 20, 40, 60, 90, 120, 400}) {
    for (const int spin : {5, 10, 20, 40, 50, 90, 140, 450}) {
      // After spinning without result the thread sleeps: that takes no more than the spin and the sleep, and some time
      // for a core that the other side could not use.
      const Machine machine{.block = microseconds(block), .spin = microseconds(std::min(spin, block + 100))};
      SpinPolicy policy(true);
      const int waits = 200'000;
      const Nanos took = feed(policy, machine, waits).took;
      const Nanos known = waits * Nanos(block > 100 || spin * 5 >= block * 4 ? machine.block : machine.spin);
      EXPECT_LE(took, known + known / 20 + 10 * SpinPolicy::kTrial * (machine.block + machine.spin))
          << block << " " << spin;
    }
  }
}

// One wait in fifty has no processor for milliseconds. That happens in both ways, and decides nothing.
TEST(SpinPolicy, OutliersDecideNothing) {
  SpinPolicy policy(true);
  feed(policy, kDifferentCores, kLater);
  int looks = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Way way = policy.next();
    if (way == Way::spin) ++looks;
    policy.note(i % 50 == 0 ? Nanos(microseconds(8'000))
                            : Nanos(way == Way::spin ? kDifferentCores.spin : kDifferentCores.block));
  }
  EXPECT_GE(looks, 95'000);
}

}  // namespace
}  // namespace tenure::process

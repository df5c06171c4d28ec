// Surge: parts of a partition that has fallen behind are with idle workers, and return.

#include <gtest/gtest.h>

#include "machine/many_keys.h"
#include "machine/ranked.h"

namespace tenure::test {
namespace {

using Held = std::vector<Bytes>;

// Parts 0 and 3 are of partition 0, 1 and 4 of partition 1, 2 and 5 of partition 2.
constexpr Ring kSurging{.partitions = 3, .secondaries = 2, .cuts = 2, .surge = 100};
const Held kAtHome{"w0", "w1", "w2", "w0", "w1", "w2"};

class SurgingPool : public RankedPool {
 public:
  explicit SurgingPool(Ring ring = kSurging) : RankedPool(ring) { all_up(); }

  void backlog(std::uint32_t part, std::uint64_t rows) { checkpoint(key_of(part), std::to_string(rows)); }
  bool lent(std::uint32_t part) const { return info(key_of(part))->lent; }
  // Partition 0 is behind, and its part 0 is with worker 1.
  void lend() {
    backlog(3, 60);
    backlog(0, 80);
    settle();
    ASSERT_EQ(holders(), (Held{"w1", "w1", "w2", "w0", "w1", "w2"}));
  }
};

TEST(Surge, EachPartIsWithThePrimaryOfItsPartition) {
  SurgingPool pool;
  EXPECT_EQ(pool.holders(), kAtHome);
  EXPECT_EQ(pool.info("partition/5")->payload, "6");
}

TEST(Surge, APartGoesToAnIdleWorkerAndReturnsWhenTheBacklogHasGone) {
  SurgingPool pool;
  pool.backlog(3, 60);
  EXPECT_EQ(pool.holders(), kAtHome);
  pool.backlog(0, 80);
  // It is released first, as in any handoff.
  EXPECT_EQ(pool.state("partition/0"), JobState::moving);
  EXPECT_EQ(pool.held_by(0), "w0");
  EXPECT_TRUE(pool.lent(0));
  pool.settle();
  EXPECT_EQ(pool.holders(), (Held{"w1", "w1", "w2", "w0", "w1", "w2"}));
  pool.backlog(0, 0);
  pool.settle();
  EXPECT_EQ(pool.held_by(0), "w1") << "60 are left of the partition's backlog: more than half of 100";
  pool.backlog(3, 49);
  pool.settle();
  EXPECT_EQ(pool.holders(), kAtHome);
  EXPECT_FALSE(pool.lent(0));
}

TEST(Surge, TheLargestPartGoesAndThePrimaryKeepsWhatWouldNotGetSooner) {
  SurgingPool pool({.partitions = 3, .secondaries = 2, .cuts = 3, .surge = 100});
  pool.backlog(0, 20);
  pool.backlog(3, 70);
  pool.backlog(6, 50);
  pool.settle();
  EXPECT_EQ(pool.held_by(3), "w1");
  pool.backlog(6, 51);
  pool.settle();
  EXPECT_EQ(pool.held_by(6), "w2") << "the one with the smallest backlog";
  pool.backlog(0, 200);
  pool.settle();
  EXPECT_EQ(pool.held_by(0), "w0") << "nobody gets it done sooner";
}

TEST(Surge, WhoIsBehindDoesNotHelp) {
  SurgingPool pool;
  pool.backlog(1, 100);
  pool.backlog(2, 100);
  pool.settle();
  pool.backlog(0, 500);
  pool.backlog(3, 500);
  pool.settle();
  EXPECT_EQ(pool.holders(), kAtHome);
}

TEST(Surge, AHelperThatFallsBehindGivesThePartBack) {
  SurgingPool pool;
  pool.lend();
  pool.backlog(2, 99);
  pool.backlog(4, 100);
  pool.settle();
  EXPECT_EQ(pool.held_by(0), "w0");
  EXPECT_EQ(pool.held_by(3), "w0");
}

TEST(Surge, OnlyThoseHelpThatMayHoldThePartition) {
  SurgingPool pool({.partitions = 3, .secondaries = 1, .cuts = 2, .surge = 100});
  pool.backlog(1, 100);
  pool.settle();
  pool.backlog(0, 300);
  pool.backlog(3, 300);
  pool.settle();
  EXPECT_EQ(pool.held_by(0), "w0");
  EXPECT_EQ(pool.held_by(3), "w0");
}

TEST(Surge, APartWhoseHelperIsGoneReturns) {
  SurgingPool pool;
  pool.lend();
  pool.down(1);
  EXPECT_EQ(pool.held_by(0), "w0");
  EXPECT_FALSE(pool.lent(0));
}

TEST(Surge, APartOnLoanStaysWhereItIsWhileItsPrimaryIsAway) {
  SurgingPool pool;
  pool.lend();
  const std::uint64_t epoch = pool.epoch("partition/0");
  pool.down(0);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Held{"w1", "w1", "w2", "w2", "w1", "w2"}));
  pool.up(0);
  pool.settle();
  EXPECT_EQ(pool.holders(), (Held{"w1", "w1", "w2", "w0", "w1", "w2"}));
  EXPECT_EQ(pool.epoch("partition/0"), epoch);
  pool.backlog(0, 1);
  pool.backlog(3, 1);
  pool.settle();
  EXPECT_EQ(pool.holders(), kAtHome);
}

TEST(Surge, AStandInLendsNothing) {
  SurgingPool pool;
  pool.down(0);
  pool.settle();
  const Held before = pool.holders();
  pool.backlog(0, 500);
  pool.backlog(3, 500);
  pool.settle();
  EXPECT_EQ(pool.holders(), before);
  pool.up(0);
  pool.settle();
  EXPECT_EQ(pool.held_by(3), "w0");
}

TEST(Surge, APrimaryThatHasLentAPartGetsItBackWithoutSettling) {
  SurgingPool pool({.partitions = 3, .secondaries = 2, .settle_ms = 60'000, .cuts = 2, .surge = 100});
  pool.pass(60'000);
  pool.settle();
  ASSERT_EQ(pool.holders(), kAtHome);
  pool.down(0);
  pool.settle();
  pool.down(1);
  pool.settle();
  pool.down(2);
  pool.up(0);
  pool.up(1);
  pool.settle();
  pool.backlog(3, 60);
  pool.backlog(0, 80);
  pool.settle();
  ASSERT_TRUE(pool.lent(0));
  pool.backlog(3, 0);
  pool.backlog(0, 0);
  pool.settle();
  EXPECT_EQ(pool.held_by(0), "w0");
}

TEST(Surge, AnotherRingEndsTheLoans) {
  SurgingPool pool;
  pool.lend();
  Ring ring = pool.ring();
  ring.surge = 1'000;
  pool.resize(ring);
  pool.settle();
  EXPECT_EQ(pool.holders(), kAtHome);
}

TEST(Surge, WithoutCutsThePartitionsAreMadeAnew) {
  SurgingPool pool;
  pool.lend();
  pool.resize({.partitions = 3, .secondaries = 2});
  pool.stop_all();
  pool.settle();
  EXPECT_EQ(pool.holders(), (Held{"w0", "w1", "w2"}));
  EXPECT_EQ(pool.info("partition/0")->payload, "3");
}

TEST(Surge, BacklogsThatAreNoNumbersOrTooLargeDoNoHarm) {
  SurgingPool pool;
  for (const char* text : {"", "x", "-1", "1e9", "18446744073709551615"}) {
    pool.checkpoint("partition/0", text);
    pool.settle();
    EXPECT_EQ(pool.holders(), kAtHome) << text;
  }
  for (std::uint32_t part = 0; part < 6; ++part) pool.backlog(part, UINT64_MAX - 1);
  pool.settle();
  EXPECT_EQ(pool.holders(), kAtHome);
}

}  // namespace
}  // namespace tenure::test

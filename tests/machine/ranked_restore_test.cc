// Partitions in snapshots, and in a log that lost everything.

#include <gtest/gtest.h>

#include "machine/ranked.h"
#include "machine/restoring.h"

namespace tenure::test {
namespace {

constexpr Ring kRing{.partitions = 4, .secondaries = 2, .settle_ms = 5'000};

// A second machine starts from a snapshot after each entry of a history with everything in it, and goes on like the
// first.
TEST(PartitionSnapshots, ANodeThatStartsFromOneGoesOnLikeTheOthers) {
  RankedPool pool(kRing);
  pool.all_up();
  pool.pass(6'000);
  pool.settle();
  pool.down(1);
  pool.settle();
  pool.up(1);
  pool.pass(2'000);
  pool.up("w3b", kNoOrdinal, "w3");
  pool.resize({.partitions = 6, .secondaries = 1, .settle_ms = 1'000});
  pool.released("partition/0");
  pool.pass(2'000);
  pool.stop_all();
  pool.settle();
  pool.up(5);
  pool.pass(2'000);
  pool.settle();
  pool.append(rec::drain("w0"));
  pool.settle();
  for (std::size_t from = 0; from < pool.log().size(); ++from) {
    Recorder nobody;
    Machine first;
    for (std::size_t i = 0; i <= from; ++i) first.apply(pool.log()[i].view(), nobody);
    Machine other;
    const Status restored = other.restore(save(first));
    ASSERT_TRUE(restored) << restored.error().message();
    for (std::size_t i = from + 1; i < pool.log().size(); ++i) other.apply(pool.log()[i].view(), nobody);
    ASSERT_EQ(other.digest(), pool.machine().digest()) << "from entry " << from;
    ASSERT_EQ(other.state_digest(), pool.machine().state_digest()) << "from entry " << from;
  }
}

// The worker is in the new log before its member has put the pool back: the partitions wait for their checkpoints.
TEST(PartitionRestore, ALostLogGetsThemBackWithTheirCheckpoints) {
  RankedPool old(kRing);
  old.all_up();
  old.pass(6'000);
  old.settle();
  old.checkpoint("partition/1", "half way");
  const std::uint64_t epoch = old.epoch("partition/1");

  constexpr std::uint64_t kSurvivor = 500;
  TestPool fresh(1, TestPool::kSender + 1);
  fresh.append({survivor(kSurvivor, old.machine()), rec::add_worker(kSurvivor, "w1", old.spec(1))});
  EXPECT_EQ(fresh.machine().config().ring, kRing);
  EXPECT_EQ(fresh.machine().keys(), 0U);
  for (const v1::Record& part : parts_of(old.machine(), kSurvivor)) fresh.append(part);
  EXPECT_EQ(fresh.machine().keys(), 4U);
  EXPECT_EQ(fresh.holder("partition/1"), "w1");
  EXPECT_EQ(fresh.info("partition/1")->checkpoint, "half way");
  EXPECT_GT(fresh.epoch("partition/1"), epoch);
  EXPECT_EQ(fresh.holder("partition/2"), "");
  expect_sound(fresh);
}

// The member that puts the pool back has no ranked worker, and the pool was being resized when the log was lost.
TEST(PartitionRestore, PartitionsOfTwoNumbersAreNotHeldTogether) {
  RankedPool old(kRing);
  old.all_up();
  old.resize({.partitions = 2, .secondaries = 1});
  old.released("partition/0");

  constexpr std::uint64_t kSurvivor = 500;
  TestPool fresh(1, TestPool::kSender + 1);
  fresh.append(survivor(kSurvivor, old.machine()));
  for (const v1::Record& part : parts_of(old.machine(), kSurvivor)) fresh.append(part);
  EXPECT_EQ(fresh.machine().config().ring.partitions, 2U);
  EXPECT_EQ(fresh.machine().keys(), 2U);
  for (const char* key : {"partition/0", "partition/1"}) EXPECT_EQ(fresh.info(key)->payload, "2");
  expect_sound(fresh);
}

// A pool whose log was lost, and that nobody puts back: the first worker brings the partitions again.
TEST(PartitionRestore, AnEmptyLogGetsThemFromTheNextWorker) {
  RankedPool pool(kRing);
  pool.up(3);
  EXPECT_EQ(pool.machine().keys(), 4U);
  EXPECT_EQ(pool.held_by(3), "w3");
}

}  // namespace
}  // namespace tenure::test

// New rules are switched on by a record, once every living session has said that it speaks them.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

TEST(Version, SwitchesOnlyWhenAllLivingSpeakIt) {
  TestPool pool;
  pool.append({rec::join(1, 2), rec::join(2, 1)});
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 1U);
  pool.append(rec::beat(2, 1, 2));
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 2U);
}

TEST(Version, TheDeadNeedNotSpeakIt) {
  TestPool pool;
  pool.append({rec::join(1, 2), rec::join(2, 1)});
  pool.crash(2);
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 2U);
}

TEST(Version, NeverGoesBackAndNeverSwitchesInAnEmptyPool) {
  TestPool pool;
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 1U);
  pool.append(rec::join(1, 3));
  pool.append(rec::switch_version(3));
  pool.append({rec::switch_version(2), rec::switch_version(3)});
  EXPECT_EQ(pool.machine().version(), 3U);
  EXPECT_EQ(pool.refused(), 3U);
}

TEST(Version, ANodeThatDoesNotSpeakItDoesNotJoin) {
  TestPool pool;
  pool.append(rec::join(1, 2));
  pool.append(rec::switch_version(2));
  pool.append(rec::join(2, 1));
  EXPECT_FALSE(pool.alive(2));
  pool.append(rec::join(3, 2));
  EXPECT_TRUE(pool.alive(3));
}

// A beat can only add to what a session was known to speak.
TEST(Version, ABeatTakesNothingBack) {
  TestPool pool;
  pool.append(rec::join(1, 2));
  pool.append(rec::beat(1, 1, 1));
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 2U);
}

TEST(Version, ASnapshotOfANewerVersionIsRefusedByName) {
  TestPool pool;
  pool.append(rec::join(1, kMachineVersion + 1));
  pool.append(rec::switch_version(kMachineVersion + 1));
  Machine other;
  const Status restored = other.restore(save(pool.machine()));
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, Errc::version);
  EXPECT_EQ(other.position(), 0U);
}

}  // namespace
}  // namespace tenure::test

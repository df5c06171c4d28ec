// A record switches new rules on, once every living session has reported that it supports them.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

TEST(Version, SwitchesOnlyWhenAllLivingSpeakIt) {
  TestPool pool;
  pool.append({rec::join(1, 1), rec::join(2, 1), rec::beat(1, 1, 2)});
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 1U);
  pool.append(rec::beat(2, 1, 2));
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 2U);
}

TEST(Version, TheDeadNeedNotSpeakIt) {
  TestPool pool;
  pool.append({rec::join(1, 1), rec::join(2, 2)});
  pool.crash(1);
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 2U);
}

TEST(Version, NeverGoesBackAndNeverSwitchesInAnEmptyPool) {
  TestPool pool;
  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.machine().version(), 1U);
  pool.append({rec::join(1, 1), rec::beat(1, 1, 3)});
  pool.append(rec::switch_version(3));
  pool.append({rec::switch_version(2), rec::switch_version(3)});
  EXPECT_EQ(pool.machine().version(), 3U);
  EXPECT_EQ(pool.refused(), 3U);
}

TEST(Version, ANodeThatDoesNotSpeakItDoesNotJoin) {
  TestPool pool;
  pool.append({rec::join(1, 1), rec::beat(1, 1, 2)});
  pool.append(rec::switch_version(2));
  pool.append(rec::join(2, 1));
  EXPECT_FALSE(pool.alive(2));
  pool.append(rec::join(3, 2));
  EXPECT_TRUE(pool.alive(3));
}

// A beat can only add to what a session was known to speak.
TEST(Version, ABeatTakesNothingBack) {
  TestPool pool;
  pool.append({rec::join(1, 1), rec::beat(1, 1, 2)});
  pool.append(rec::beat(1, 2, 1));
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

// One task that fails at the first attempt. The rule of its version says when it is tried again.
std::int64_t retry_due_ms(TestPool& pool, const char* key) {
  pool.task(key);
  pool.failed(key);
  return *pool.machine().next_due_ms() - pool.machine().log_time_ms();
}

// Nobody is there yet whose rules would be older.
TEST(Version, ANewPoolHasTheRulesOfTheNodeThatCreatesIt) {
  TestPool pool;
  pool.append(rec::join(1, 2));
  EXPECT_EQ(pool.machine().version(), 2U);
  EXPECT_EQ(pool.seen().lines.back(), "version_switched 2");
  TestPool older;
  older.append(rec::join(1, 1));
  EXPECT_EQ(older.machine().version(), 1U);
}

// A rule that differs between two versions follows the pool's version, and not what the machine could speak.
TEST(Version, ARuleIsSwitchedOnForAllAtOnePosition) {
  const auto dues = [](bool switched) {
    TestPool pool;
    pool.append({rec::join(1), rec::beat(1, 1, kRehearsedVersion)});
    pool.append(rec::add_worker(1, "a"));
    pool.append(switched ? rec::switch_version(kRehearsedVersion) : rec::tick());
    EXPECT_EQ(pool.machine().version(), switched ? kRehearsedVersion : kMachineVersion);
    std::vector<std::int64_t> all;
    for (const char* key : {"a", "b", "c"}) all.push_back(retry_due_ms(pool, key));
    return all;
  };
  EXPECT_EQ(dues(false), dues(false));
  EXPECT_NE(dues(false), dues(true));
}

// Before the switch, nodes of both versions read each other's snapshots. After it, a snapshot is for the newer ones.
TEST(Version, SnapshotsPassBetweenVersions) {
  TestPool pool;
  pool.append({rec::join(1), rec::beat(1, 1, kRehearsedVersion)});
  pool.append(rec::add_worker(1, "a"));
  pool.task("k");
  pool.failed("k");
  Machine older(kMachineVersion);
  Machine newer(kRehearsedVersion);
  ASSERT_TRUE(older.restore(save(pool.machine())));
  ASSERT_TRUE(newer.restore(save(older)));
  EXPECT_EQ(newer.state_digest(), pool.machine().state_digest());

  pool.append(rec::switch_version(kRehearsedVersion));
  ASSERT_TRUE(newer.restore(save(pool.machine())));
  EXPECT_EQ(newer.version(), kRehearsedVersion);
  const std::uint64_t before = older.state_digest();
  const Status refused = older.restore(save(newer));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::version);
  EXPECT_EQ(older.state_digest(), before) << "a state that could not be read must leave the old one";
}

}  // namespace
}  // namespace tenure::test

// Membership: sessions begin by joining, live by beating, and end once. What a claim of death may do, and what an ended
// session can no longer do.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

TEST(Members, JoinBeginsASessionThatBeats) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  ASSERT_TRUE(pool.alive(session));
  EXPECT_EQ(pool.seen().joins, std::vector<std::uint64_t>{session});
  const std::uint64_t at = pool.append(rec::beat(session, 4));
  EXPECT_EQ(pool.machine().sessions().find(session)->last_beat, at);
  EXPECT_EQ(pool.machine().sessions().find(session)->beat_number, 4U);
}

TEST(Members, ASessionJoinsOnce) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  pool.append(rec::join(session));
  EXPECT_EQ(pool.refused(), 1U);
  EXPECT_TRUE(pool.seen().joins.empty());
}

TEST(Members, AJoinOutOfBoundsIsRefused) {
  TestPool pool;
  pool.append(rec::join(0));
  v1::Record hasty = rec::join(1);
  hasty.mutable_join()->set_lease_ms(kLeaseMsMin - 1);
  pool.append(hasty);
  hasty.mutable_join()->set_lease_ms(kLeaseMsMax + 1);
  pool.append(hasty);
  v1::Record wordy = rec::join(1);
  wordy.mutable_join()->set_node(Bytes(kIdBytesMax + 1, 'n'));
  pool.append(wordy);
  EXPECT_EQ(pool.refused(), 4U);
  EXPECT_TRUE(pool.machine().sessions().all.empty());
}

TEST(Members, SessionsAreBounded) {
  TestPool pool;
  TestPool::Records joins;
  for (std::uint64_t id = 1; id <= kSessionsMax + 1; ++id) joins.push_back(rec::join(id));
  pool.append(joins);
  EXPECT_EQ(pool.machine().sessions().all.size(), kSessionsMax);
  EXPECT_FALSE(pool.alive(kSessionsMax + 1));
}

TEST(Members, ExpireNamingTheLastBeatEndsTheSession) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  const std::uint64_t beat = pool.append(rec::beat(session));
  pool.append(rec::expire(session, beat));
  EXPECT_FALSE(pool.alive(session));
  EXPECT_EQ(pool.seen().sessions_ended, std::vector<std::uint64_t>{session});
  EXPECT_EQ(pool.machine().workers().find("a"), kNone);
}

TEST(Members, TheJoinCountsAsTheFirstBeat) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  pool.append(rec::expire(session, pool.position()));
  EXPECT_FALSE(pool.alive(session));
}

TEST(Members, ANewerBeatVoidsAClaimOfDeath) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  const std::uint64_t old_beat = pool.append(rec::beat(session, 1));
  pool.append(rec::beat(session, 2));
  pool.append(rec::expire(session, old_beat));
  EXPECT_TRUE(pool.alive(session));
  EXPECT_EQ(pool.refused(), 1U);
}

// Also within one entry: records are judged in their order.
TEST(Members, ABeatJustBeforeTheClaimInTheSameEntryVoidsIt) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  const std::uint64_t joined = pool.position();
  pool.append({rec::beat(session, 1), rec::expire(session, joined)});
  EXPECT_TRUE(pool.alive(session));
  const std::uint64_t beat = pool.position();
  pool.append({rec::expire(session, beat), rec::beat(session, 2)});
  EXPECT_FALSE(pool.alive(session));
  EXPECT_EQ(pool.refused(), 2U);
}

TEST(Members, ASecondClaimIsHarmless) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  const std::uint64_t joined = pool.position();
  pool.append(rec::expire(session, joined));
  pool.append(rec::expire(session, joined));
  pool.append(rec::expire(99, 0));
  EXPECT_EQ(pool.refused(), 2U);
  EXPECT_TRUE(pool.seen().sessions_ended.empty());
}

TEST(Members, AGuardEndsTheSessionOfACrashedProcessAtOnce) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  pool.running("k");
  pool.append(rec::beat(session));
  pool.crash(session);
  EXPECT_FALSE(pool.alive(session));
  ASSERT_EQ(pool.seen().ends.size(), 1U);
  EXPECT_EQ(pool.seen().ends[0].why, TenureEnd::crashed);
}

TEST(Members, WorkerIdsAreUniqueAmongTheLiving) {
  TestPool pool;
  const std::uint64_t first = pool.node("a");
  pool.node("a");
  EXPECT_EQ(pool.seen().workers_refused, std::vector{Errc::key_exists});
  EXPECT_EQ(pool.session_of("a"), first);
  pool.crash(first);
  const std::uint64_t third = pool.node("a");
  EXPECT_TRUE(pool.seen().workers_refused.empty());
  EXPECT_EQ(pool.session_of("a"), third);
}

TEST(Members, AWorkerTooManyIsToldThatThePoolIsFull) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  TestPool::Records records;
  for (std::size_t i = 0; i < kWorkersMax; ++i) records.push_back(rec::add_worker(session, "w" + std::to_string(i)));
  pool.append(records);
  EXPECT_TRUE(pool.seen().workers_refused.empty());
  pool.append(rec::add_worker(session, "one more"));
  EXPECT_EQ(pool.seen().workers_refused, std::vector{Errc::pool_full});
  pool.append(rec::add_worker(session, "w7"));
  EXPECT_EQ(pool.seen().workers_refused, std::vector{Errc::key_exists});
}

TEST(Members, AWorkerOutOfBoundsIsRefused) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  pool.append(rec::add_worker(session, ""));
  pool.append(rec::add_worker(session, Bytes(kIdBytesMax + 1, 'w')));
  pool.append(rec::add_worker(session, "a", {.weight = kWeightMax + 1}));
  pool.append(rec::add_worker(session, "a", {.window = kWindowMax + 1}));
  pool.append(rec::add_worker(session, "a", {.serves = {""}}));
  EXPECT_EQ(pool.history().workers_refused, std::vector<Errc>(5, Errc::invalid));
  pool.append(rec::add_worker(99, "a"));
  EXPECT_TRUE(pool.seen().lines.empty());
  EXPECT_TRUE(pool.machine().workers().by_age.empty());
}

TEST(Members, ANodeRejoinsUnderANewSessionAndGetsItsKeysBack) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t second = pool.node("b");
  constexpr int kRejoined = 20;
  for (int i = 0; i < kRejoined; ++i) pool.running("k" + std::to_string(i));
  std::vector<Bytes> before;
  before.reserve(kRejoined);
  for (int i = 0; i < kRejoined; ++i) before.push_back(pool.holder("k" + std::to_string(i)));
  pool.crash(second);
  pool.settle();
  pool.node("b");
  pool.settle();
  for (int i = 0; i < kRejoined; ++i)
    EXPECT_EQ(pool.holder("k" + std::to_string(i)), before[static_cast<std::size_t>(i)]);
}

TEST(Members, AnEndedSessionIsNotHeard) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  pool.running("k");
  const std::uint64_t epoch = pool.epoch("k");
  pool.append(rec::expire(session, pool.machine().sessions().find(session)->last_beat));
  const std::uint64_t digest = image_of(pool.machine()).keys.at("k").stamp();
  const std::uint64_t before = pool.refused();
  pool.append({rec::beat(session, 9), rec::add_worker(session, "b"), rec::remove_worker(session, "a"),
               rec::serve(session, "a", {"k"}), rec::end(session), rec::done("k", epoch), rec::released("k", epoch),
               rec::failed("k", epoch), rec::checkpoint("k", epoch, "late"), rec::notified("k", epoch, 1),
               rec::started("k", epoch)});
  EXPECT_EQ(pool.refused(), before + 11);
  EXPECT_TRUE(pool.seen().lines.empty());
  EXPECT_EQ(image_of(pool.machine()).keys.at("k").stamp(), digest);
  EXPECT_FALSE(pool.info("k")->has_checkpoint);
}

TEST(Members, OnlyItsOwnSessionRemovesAWorker) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t other = pool.node("b");
  pool.append({rec::remove_worker(other, "a"), rec::serve(other, "a", {"k"}), rec::remove_worker(other, "c")});
  EXPECT_EQ(pool.refused(), 3U);
  pool.append(rec::remove_worker(other, "b"));
  EXPECT_EQ(pool.machine().workers().find("b"), kNone);
  EXPECT_TRUE(pool.alive(other));
}

// A newcomer that saw larger epochs, in a history that the log has lost, lifts all later ones above them.
TEST(Members, EpochsGoOnAboveTheJoinersFloor) {
  TestPool pool;
  v1::Record join = rec::join(50);
  const std::uint64_t floor = 1ULL << 60;
  join.mutable_join()->set_epoch_floor(floor);
  pool.append({join, rec::add_worker(50, "a")});
  pool.resident("k");
  EXPECT_GT(pool.epoch("k"), floor);
  pool.resident("l");
  EXPECT_GT(pool.epoch("l"), pool.epoch("k"));
}

// A floor at the end of the range would leave no epochs to give.
TEST(Members, AFloorThatLeavesNoEpochsIsRefused) {
  TestPool pool;
  v1::Record join = rec::join(50);
  join.mutable_join()->set_epoch_floor(UINT64_MAX);
  pool.append(join);
  EXPECT_EQ(pool.refused(), 1U);
  EXPECT_FALSE(pool.alive(50));
}

TEST(Members, TheFirstJoinSetsTheOptionsAndLaterOnesDoNot) {
  TestPool pool;
  v1::Record join = rec::join(1);
  join.mutable_join()->mutable_configure()->set_max_queued_jobs(7);
  pool.append(join);
  EXPECT_EQ(pool.machine().config().max_queued_jobs, 7U);
  join.mutable_join()->set_session(2);
  join.mutable_join()->mutable_configure()->set_max_queued_jobs(9);
  pool.append(join);
  EXPECT_EQ(pool.machine().config().max_queued_jobs, 7U);
}

}  // namespace
}  // namespace tenure::test

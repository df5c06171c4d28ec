#include "node/heart.h"

#include <gtest/gtest.h>

#include "node/manual_world.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

class RecordingHolder final : public LeaseHolder {
 public:
  void fence(std::uint64_t session) override { fenced = session; }
  void kill(std::uint64_t session) override { killed = session; }

  std::uint64_t fenced = 0;
  std::uint64_t killed = 0;
};

class HeartTest : public testing::Test, private HeartEvents {
 protected:
  HeartTest() : entropy_(1), heart_(log_, loop_, loop_, entropy_, &holder_, *this) {
    heart_.begin(7, 1s);
    heart_.joined(7);
    heart_.confirmed(7, newest_beat());
    log_.appends.clear();
  }

  Instant until() const { return Instant{Nanos(heart_.until())}; }
  std::uint64_t newest_beat() const {
    v1::Batch batch;
    batch.ParseFromString(log_.appends.back().data);
    return batch.records(0).beat().number();
  }

  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_;
  RecordingHolder holder_;
  std::uint64_t lost_ = 0;
  Heart heart_;

 private:
  void lease_lost(std::uint64_t session) override { lost_ = session; }
};

// A join gives no lease: only a beat proves that the log is the one that newcomers get. It is sent at once.
TEST_F(HeartTest, AJoinIsFollowedByABeatAtOnceAndGivesNoLeaseItself) {
  heart_.begin(9, 1s);
  heart_.joined(9);
  EXPECT_EQ(heart_.until(), 0);
  ASSERT_EQ(log_.appends.size(), 1U);
  EXPECT_EQ(log_.appends[0].lane, Lane::beat);
  heart_.confirmed(9, newest_beat());
  EXPECT_EQ(until(), loop_.now() + 1s - 50ms);
}

// Beats go into their own lane at a fifth of the lease, whether or not earlier ones were answered.
TEST_F(HeartTest, BeatsAtAFifthOfTheLease) {
  loop_.advance(600ms);
  EXPECT_EQ(log_.appends.size(), 3U);
  for (const ManualLog::Append& append : log_.appends) EXPECT_EQ(append.lane, Lane::beat);
}

// The lease counts from the moment at which the confirmed beat was sent, not from the moment of its confirmation.
TEST_F(HeartTest, LeaseRunsFromTheSending) {
  loop_.advance(200ms);
  const Instant sent = loop_.now();
  loop_.advance(150ms);
  heart_.confirmed(7, newest_beat());
  EXPECT_EQ(until(), sent + 1s - 50ms);
}

// A confirmation of a beat that was never sent, or of another session's, renews nothing.
TEST_F(HeartTest, OnlyOwnBeatsRenew) {
  const Instant before = until();
  loop_.advance(400ms);
  heart_.confirmed(7, 99);
  heart_.confirmed(8, 1);
  EXPECT_EQ(until(), before);
}

// Without a confirmation the handlers are asked to stop before the deadline, and ended at it.
TEST_F(HeartTest, FencesBeforeTheDeadlineAndKillsAtIt) {
  loop_.advance(849ms);
  EXPECT_EQ(holder_.fenced, 0U);
  loop_.advance(1ms);
  EXPECT_EQ(holder_.fenced, 7U);
  EXPECT_EQ(lost_, 7U);
  EXPECT_EQ(holder_.killed, 0U);
  loop_.advance(100ms);
  EXPECT_EQ(holder_.killed, 7U);
}

// Once fenced, a beat that still comes back does not revive the session: its handlers have been told to stop.
TEST_F(HeartTest, AFencedSessionStaysFenced) {
  loop_.advance(850ms);
  const Instant before = until();
  heart_.confirmed(7, newest_beat());
  EXPECT_EQ(until(), before);
}

// A process that was frozen past its lease is fenced by whatever runs first, also if that is a confirmation.
TEST_F(HeartTest, WakesUpFenced) {
  loop_.advance(200ms);
  loop_.freeze(5s);
  heart_.confirmed(7, newest_beat());
  EXPECT_EQ(holder_.fenced, 7U);
}

// A beat that is known to be lost is followed by another one sooner than usual.
TEST_F(HeartTest, BeatsSoonerAfterALoss) {
  loop_.advance(200ms);
  log_.answer(fail(Errc::unavailable, "append"));
  loop_.advance(50ms);
  EXPECT_EQ(log_.appends.size(), 1U);
}

}  // namespace
}  // namespace tenure

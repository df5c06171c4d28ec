#include "node/observer.h"

#include <gtest/gtest.h>

#include "node/manual_world.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

class ObserverTest : public testing::Test, private ObserverEvents {
 protected:
  ObserverTest() : observer_(loop_, [this]() -> const SessionTable& { return sessions_; }, *this) {
    for (std::uint64_t session = 1; session <= 2; ++session) {
      Session& added = sessions_.all[session];
      added.id = added.age = added.last_beat = session;
      added.lease_ms = 1000;
    }
  }

  // Lets time pass with an own beat coming back every fifth of a lease.
  void in_touch_for(Nanos span) {
    for (Nanos passed{}; passed < span; passed += 200ms) {
      loop_.advance(200ms);
      observer_.in_touch();
    }
  }

  ManualLoop loop_;
  SessionTable sessions_;
  std::vector<std::uint64_t> suspects_;
  std::vector<std::uint64_t> gone_;
  int touches_wanted_ = 0;
  Observer observer_;

 private:
  void suspect(std::uint64_t session, Position /*last_beat*/) override { suspects_.push_back(session); }
  void gone(std::uint64_t session) override { gone_.push_back(session); }
  void touch_wanted() override { ++touches_wanted_; }
};

// A session that is not heard of for a lease is suspected, once, and not before.
TEST_F(ObserverTest, SuspectsAfterALease) {
  observer_.set_own(1, 1s);
  observer_.heard(2, 2);
  in_touch_for(800ms);
  EXPECT_TRUE(suspects_.empty());
  in_touch_for(400ms);
  EXPECT_EQ(suspects_, std::vector<std::uint64_t>{2});
  in_touch_for(2s);
  EXPECT_EQ(suspects_.size(), 1U);
}

// An own beat is requested at the moment when the lease would be over, so that the claim does not wait for the usual
// one.
TEST_F(ObserverTest, AsksForABeatWhenTheLeaseIsOver) {
  observer_.set_own(1, 1s);
  observer_.heard(2, 2);
  in_touch_for(800ms);
  touches_wanted_ = 0;
  loop_.advance(199ms);
  EXPECT_EQ(touches_wanted_, 0);
  loop_.advance(2ms);
  EXPECT_EQ(touches_wanted_, 1);
  observer_.in_touch();
  EXPECT_EQ(suspects_, std::vector<std::uint64_t>{2});
}

// That a beat of the usual ones has come back shortly before does not put it off.
TEST_F(ObserverTest, AsksInTimeThoughABeatHasJustComeBack) {
  observer_.set_own(1, 1s);
  observer_.heard(2, 2);
  in_touch_for(800ms);
  loop_.advance(195ms);
  observer_.in_touch();
  touches_wanted_ = 0;
  loop_.advance(6ms);
  EXPECT_EQ(touches_wanted_, 1);
}

// While the answer is under way it is asked again, but not in a row.
TEST_F(ObserverTest, AsksAgainNowAndThen) {
  observer_.set_own(1, 1s);
  observer_.heard(2, 2);
  in_touch_for(800ms);
  touches_wanted_ = 0;
  for (int passed = 0; passed < 300; ++passed) loop_.advance(1ms);
  EXPECT_GE(touches_wanted_, 2);
  EXPECT_LE(touches_wanted_, 6);
}

// Time in which the own beats did not come back does not count: an outage of the log kills nobody.
TEST_F(ObserverTest, AnOutageDoesNotCount) {
  observer_.set_own(1, 1s);
  observer_.heard(2, 2);
  in_touch_for(400ms);
  loop_.advance(1h);
  observer_.in_touch();
  EXPECT_TRUE(suspects_.empty());
  in_touch_for(400ms);
  EXPECT_TRUE(suspects_.empty());
}

// What was heard while the own beats were not coming back counts from their return, not from the outage's length on.
TEST_F(ObserverTest, ASessionHeardDuringAnOutageCanStillExpire) {
  observer_.set_own(1, 1s);
  loop_.advance(1h);
  observer_.heard(2, 2);
  observer_.in_touch();
  in_touch_for(1s);
  EXPECT_EQ(suspects_, std::vector<std::uint64_t>{2});
}

// A session that was heard before this node became a member counts from then on.
TEST_F(ObserverTest, ASessionHeardBeforeJoiningCanExpire) {
  observer_.heard(2, 2);
  loop_.advance(1h);
  observer_.set_own(1, 1s);
  in_touch_for(800ms);
  EXPECT_TRUE(suspects_.empty());
  in_touch_for(400ms);
  EXPECT_EQ(suspects_, std::vector<std::uint64_t>{2});
}

// A beat in time keeps a session alive for another lease.
TEST_F(ObserverTest, ABeatCountsAfresh) {
  observer_.set_own(1, 1s);
  observer_.heard(2, 2);
  for (Position at = 10; at < 20; ++at) {
    in_touch_for(800ms);
    observer_.heard(2, at);
  }
  EXPECT_TRUE(suspects_.empty());
}

// The eldest reports a known death at once.
TEST_F(ObserverTest, EldestSpeaksOfAKnownDeathAtOnce) {
  observer_.set_own(1, 1s);
  observer_.known_dead(2);
  EXPECT_EQ(gone_, std::vector<std::uint64_t>{2});
}

// Each other waits for its turn; where the dead one was elder, it is not waited for.
TEST_F(ObserverTest, DeadElderIsNotWaitedFor) {
  observer_.set_own(2, 1s);
  observer_.known_dead(1);
  EXPECT_EQ(gone_, std::vector<std::uint64_t>{1});
}

// A death that was known before this node had a session is reported once it has one, unless others have reported it.
TEST_F(ObserverTest, KnownDeathWaitsForASession) {
  observer_.known_dead(2);
  observer_.known_dead(77);  // not in the pool
  EXPECT_TRUE(gone_.empty());
  observer_.set_own(1, 1s);
  EXPECT_EQ(gone_, std::vector<std::uint64_t>{2});
  observer_.known_dead(2);
  observer_.forget(2);
  EXPECT_EQ(gone_.size(), 2U);
}

}  // namespace
}  // namespace tenure

#include "node/appender.h"

#include <gtest/gtest.h>

#include "machine/encode.h"
#include "machine/limits.h"
#include "node/manual_world.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

class AppenderTest : public testing::Test, private AppenderEvents {
 protected:
  AppenderTest() : entropy_(1), appender_(log_, loop_, loop_, entropy_, *this) {}

  void offer(const Bytes& key) {
    v1::Record record;
    record.mutable_drain()->set_worker(key);
    appender_.offer(record);
  }
  void offer_request(const Bytes& key) {
    v1::Record record;
    record.mutable_drain()->set_worker(key);
    Bytes encoded;
    append_record(record, encoded);
    appender_.offer_request(encoded);
  }
  void offer_behind_requests(const Bytes& key) {
    v1::Record record;
    record.mutable_drain()->set_worker(key);
    appender_.offer_behind_requests(record);
  }
  // Answers one batch after the other until there is none, and tells the first letters of what each had.
  std::vector<std::string> send_all() {
    std::vector<std::string> batches;
    loop_.settle();
    while (!log_.appends.empty()) {
      std::string letters;
      const v1::Batch next = batch(log_.appends[0]);
      for (const v1::Record& record : next.records()) letters += record.drain().worker()[0];
      batches.push_back(letters);
      log_.answer(Position{1});
      loop_.settle();
    }
    return batches;
  }
  static v1::Batch batch(const ManualLog::Append& append) {
    v1::Batch batch;
    EXPECT_TRUE(batch.ParseFromString(append.data));
    return batch;
  }

  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_;
  int gave_up_ = 0;
  std::vector<Error> refused_;
  std::vector<Errc> delays_;
  int resumed_ = 0;
  int rooms_ = 0;
  Appender appender_;

 private:
  void append_gave_up() override { ++gave_up_; }
  void append_refused(const Error& error) override { refused_.push_back(error); }
  void append_delayed(const Error& error) override { delays_.push_back(error.code); }
  void append_resumed() override { ++resumed_; }
  void append_has_room() override { ++rooms_; }
};

// What is offered in one turn of the loop, and what is offered while a batch is under way, goes together.
TEST_F(AppenderTest, GathersWhatBelongsTogether) {
  offer("a");
  offer("b");
  loop_.settle();
  ASSERT_EQ(log_.appends.size(), 1U);
  EXPECT_EQ(batch(log_.appends[0]).records_size(), 2);
  offer("c");
  loop_.settle();
  offer("d");
  loop_.settle();
  ASSERT_EQ(log_.appends.size(), 1U);
  log_.answer(Position{1});
  loop_.settle();
  ASSERT_EQ(log_.appends.size(), 1U);
  EXPECT_EQ(batch(log_.appends[0]).records_size(), 2);
  EXPECT_EQ(batch(log_.appends[0]).sequence(), 2U);
}

// In the midst of an entry, without a turn of the loop: an answer that has come is taken, and once the log has rested
// for as long as the last batch took, the next one is sent.
TEST_F(AppenderTest, SendsInTheMidstOfAnEntryWhatTheLogHasTimeFor) {
  offer("a");
  loop_.settle();
  loop_.advance(2ms);
  offer("b");
  appender_.send_meanwhile();
  EXPECT_EQ(log_.appends.size(), 1U);  // "a" is still under way
  log_.answer(Position{1});
  appender_.send_meanwhile();
  EXPECT_TRUE(log_.appends.empty());  // the log has only just become idle
  loop_.pass(2ms);
  appender_.send_meanwhile();
  ASSERT_EQ(log_.appends.size(), 1U);
  EXPECT_EQ(batch(log_.appends[0]).sequence(), 2U);
  loop_.settle();  // what was posted for the first answer finds it taken
  EXPECT_EQ(log_.appends.size(), 1U);
  offer("c");
  log_.answer(Position{2});
  loop_.settle();
  ASSERT_EQ(log_.appends.size(), 1U);
  EXPECT_EQ(batch(log_.appends[0]).sequence(), 3U);
}

// An answer may be taken in the midst of an entry while it is too early for the next batch. What was offered before it
// is sent when the entry is done, even if nothing else is offered any more.
TEST_F(AppenderTest, SendsAfterAnEntryWhatWasNotSentInItsMidst) {
  offer("a");
  loop_.settle();
  loop_.advance(2ms);
  offer("b");
  log_.answer(Position{1});
  appender_.send_meanwhile();
  EXPECT_TRUE(log_.appends.empty());
  loop_.settle();
  ASSERT_EQ(log_.appends.size(), 1U);
  EXPECT_EQ(batch(log_.appends[0]).sequence(), 2U);
}

// Only what nobody wants to be told of: milestones may do what must not be done in the midst of an entry.
TEST_F(AppenderTest, SendsNoMilestonesInTheMidstOfAnEntry) {
  offer("a");
  loop_.settle();
  log_.answer(Position{1});
  loop_.settle();
  int told = 0;
  v1::Record record;
  record.mutable_tick();
  appender_.offer(record, {[&](Instant) { ++told; }, [&](Position) { ++told; }});
  loop_.pass(1s);
  appender_.send_meanwhile();
  EXPECT_TRUE(log_.appends.empty());
  loop_.settle();
  ASSERT_EQ(log_.appends.size(), 1U);
  EXPECT_EQ(told, 1);
  log_.answer(Position{2});
  appender_.send_meanwhile();
  EXPECT_EQ(told, 1);
  loop_.settle();
  EXPECT_EQ(told, 2);
}

// A batch whose answer was lost is sent again, byte for byte, and nothing overtakes it.
TEST_F(AppenderTest, SendsAgainUnderTheSameSequence) {
  offer("a");
  loop_.settle();
  const Bytes first = log_.appends[0].data;
  offer("b");
  log_.answer(fail(Errc::unknown, "append"));
  loop_.settle();
  EXPECT_TRUE(log_.appends.empty());
  loop_.advance(1s);
  ASSERT_EQ(log_.appends.size(), 1U);
  EXPECT_EQ(log_.appends[0].data, first);
}

// A log may lose what it acknowledged before anybody has read it. It shows when a later batch is met first, or when the
// reader has passed the place.
TEST_F(AppenderTest, NoticesAcknowledgedBatchesThatAreLost) {
  const auto append = [this](Position at) {
    offer("a");
    loop_.settle();
    log_.answer(at);
    loop_.settle();
  };
  append(10);
  append(20);
  append(30);
  EXPECT_TRUE(appender_.all_met(5, 0));
  EXPECT_TRUE(appender_.all_met(10, 1));
  EXPECT_FALSE(appender_.all_met(25, 3)) << "the second was not met";
  append(40);
  EXPECT_TRUE(appender_.all_met(39, 3));
  EXPECT_FALSE(appender_.all_met(41, 3)) << "its place was passed";
  EXPECT_TRUE(appender_.all_met(42, 3)) << "told once";
  append(50);
  appender_.reader_reloaded();
  EXPECT_TRUE(appender_.all_met(60, 0)) << "what was before the reload is not looked for";
}

// After a while a batch in doubt is given up: the machine may have forgotten its sender, and would apply it twice.
TEST_F(AppenderTest, GivesUpWhatIsTooOldToRepeat) {
  offer("a");
  loop_.settle();
  while (gave_up_ == 0 && loop_.now() < Instant{} + 2h) {
    ASSERT_FALSE(log_.appends.empty());
    log_.answer(fail(Errc::unknown, "append"));
    loop_.advance(1s);
  }
  EXPECT_EQ(gave_up_, 1);
  EXPECT_LT(to_ms(loop_.now() - Instant{1h}), kSenderKeepMs);
}

// A batch that is known not to be in the log is tried for as long as it takes.
TEST_F(AppenderTest, NeverGivesUpWhatIsKnownToBeUnsent) {
  offer("a");
  loop_.settle();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(log_.appends.size(), 1U);
    log_.answer(fail(Errc::unavailable, "append"));
    loop_.advance(1s);
  }
  EXPECT_EQ(gave_up_, 0);
}

// If an engine accepts nothing, that is reported once, and once when it accepts again. Nothing is reported while it is
// in doubt whether it accepted an append.
TEST_F(AppenderTest, SaysThatTheLogTakesNothing) {
  offer("a");
  loop_.settle();
  for (int i = 0; i < 10; ++i) {
    log_.answer(fail(Errc::full, "append"));
    loop_.advance(1s);
  }
  EXPECT_EQ(delays_, std::vector{Errc::full});
  EXPECT_EQ(resumed_, 0);
  log_.answer(Position{1});
  loop_.settle();
  EXPECT_EQ(resumed_, 1);
  offer("b");
  loop_.settle();
  log_.answer(fail(Errc::unknown, "append"));
  loop_.advance(1s);
  log_.answer(fail(Errc::unavailable, "append"));
  loop_.advance(1s);
  EXPECT_EQ(delays_.size(), 1U);
  log_.answer(Position{2});
  loop_.settle();
  EXPECT_EQ(resumed_, 1);
}

// An engine that will take nothing any more is reported, once.
TEST_F(AppenderTest, ReportsARefusal) {
  offer("a");
  loop_.settle();
  log_.answer(fail(Errc::refused, "append", "read-only"));
  loop_.advance(10s);
  ASSERT_EQ(refused_.size(), 1U);
  EXPECT_TRUE(log_.appends.empty());
}

// Users' records are refused beyond a bound, and accepted again after a send. A caller that was refused is notified
// once.
TEST_F(AppenderTest, HasABound) {
  offer("first");
  loop_.settle();
  const Bytes large(1U << 20, 'x');
  for (std::size_t sent = 0; sent < kUnsentBytesMax; sent += large.size()) {
    EXPECT_TRUE(appender_.has_room());
    offer(large);
  }
  loop_.settle();
  EXPECT_EQ(rooms_, 0);
  ASSERT_FALSE(appender_.has_room());
  ASSERT_FALSE(appender_.has_room());
  for (int i = 0; i < 20 && !log_.appends.empty(); ++i) {
    log_.answer(Position{1});
    loop_.settle();
  }
  EXPECT_TRUE(appender_.has_room());
  EXPECT_EQ(rooms_, 1);
}

// A batch is cut at its bound, in order.
TEST_F(AppenderTest, CutsLargeBatches) {
  for (int i = 0; i < 10; ++i) offer(Bytes(100'000, static_cast<char>('a' + i)));
  std::string order;
  loop_.settle();
  while (!log_.appends.empty()) {
    const v1::Batch next = batch(log_.appends[0]);
    for (const v1::Record& record : next.records()) order += record.drain().worker()[0];
    EXPECT_LT(log_.appends[0].data.size(), kBatchBytes + 200'000);
    log_.answer(Position{1});
    loop_.settle();
  }
  EXPECT_EQ(order, "abcdefghij");
}

// What the node itself has to say does not wait behind the requests that users have brought; each lane keeps its order.
TEST_F(AppenderTest, OwnRecordsComeBeforeRequests) {
  offer("first");
  loop_.settle();
  offer_request("r");
  offer_request("s");
  offer("a");
  offer("b");
  EXPECT_EQ(send_all(), (std::vector<std::string>{"f", "abrs"}));
}

// However much waits in one lane, the other gets its part of every batch.
TEST_F(AppenderTest, NeitherLaneWaitsForTheOtherToRunDry) {
  for (const char letter : {'a', 'b', 'c'}) offer(Bytes(kBatchBytes, letter));
  for (const char letter : {'r', 's', 't', 'u'}) offer_request(Bytes(kBatchBytes, letter));
  offer("d");
  EXPECT_EQ(send_all(), (std::vector<std::string>{"ar", "bs", "ct", "du"}));
}

// A record that closes what was asked before, such as the end of a session, overtakes no request.
TEST_F(AppenderTest, WhatIsBehindTheRequestsOvertakesNone) {
  offer_request(Bytes(kBatchBytes, 'r'));
  offer_request("s");
  offer("a");
  offer_behind_requests("z");
  offer("b");
  offer_request("t");
  EXPECT_EQ(send_all(), (std::vector<std::string>{"abr", "szt"}));
}

}  // namespace
}  // namespace tenure

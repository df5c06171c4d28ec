// A replica reads ahead while it applies, and waits for a read in flight when the state was given up. It writes
// snapshots when they are worth it.

#include "node/replica.h"

#include <gtest/gtest.h>

#include "machine/decode.h"
#include "machine/effects_tee.h"
#include "node/manual_world.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

class ReplicaTest : public testing::Test, private ReplicaEvents {
 protected:
  ReplicaTest() : entropy_(1), replica_(log_, loop_, entropy_, {}, ignored_, *this) {
    replica_.start();
    load();
  }

  static Entry entry(Position position) {
    v1::Batch batch;
    batch.set_format(kBatchFormat);
    batch.set_sender(7);
    batch.set_sequence(position);
    batch.add_records()->mutable_tick();
    return {position, static_cast<std::int64_t>(position), batch.SerializeAsString()};
  }
  void load() {
    log_.answer_load(Snapshot{});
    loop_.settle();
  }
  void bring(Result<std::vector<Entry>> run) {
    log_.answer_read(std::move(run));
    loop_.settle();
  }

  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_;
  std::size_t reads_while_applying_ = 0;
  bool give_up_ = false;
  int lost_ = 0;
  std::vector<std::string> said_;
  EffectsTee ignored_;
  Replica replica_;

 private:
  void applied() override {
    reads_while_applying_ = log_.reads.size();
    if (std::exchange(give_up_, false)) replica_.abandon();
  }
  void history_lost() override { ++lost_; }
  void read_delayed(const Error& error) override { said_.push_back(error.context); }
  void read_resumed() override { said_.emplace_back("resumed"); }
  void broken(const Error& error) override { ADD_FAILURE() << error.message(); }
};

// The run after the last entry is requested before the first one is applied.
TEST_F(ReplicaTest, ReadsOnWhileItApplies) {
  ASSERT_EQ(log_.reads.size(), 1U);
  bring(std::vector{entry(1), entry(2)});
  EXPECT_EQ(reads_while_applying_, 1U);
  ASSERT_EQ(log_.reads.size(), 1U);
  EXPECT_EQ(log_.reads[0].after, Cursor::at(entry(2)));
  EXPECT_EQ(replica_.position(), 2U);
  bring(std::vector{entry(3)});
  EXPECT_EQ(replica_.position(), 3U);
  EXPECT_EQ(replica_.machine().stats().entries_skipped, 0U);
}

// What was read ahead for a state that was given up is not applied, and no second read is begun before it has come.
TEST_F(ReplicaTest, DropsWhatWasReadForAStateThatWasGivenUp) {
  give_up_ = true;
  bring(std::vector{entry(1), entry(2)});
  EXPECT_EQ(lost_, 1);
  EXPECT_EQ(replica_.position(), 1U);
  replica_.resume();
  load();
  EXPECT_EQ(log_.reads.size(), 1U);
  bring(std::vector{entry(3)});
  EXPECT_EQ(replica_.position(), 0U);
  ASSERT_EQ(log_.reads.size(), 1U);
  EXPECT_EQ(log_.reads[0].after, Cursor{});
  bring(std::vector{entry(1)});
  EXPECT_EQ(replica_.position(), 1U);
}

// If such a read finds lost history, the engine must be told that the reader starts over.
TEST_F(ReplicaTest, LoadsAgainWhenAnOutdatedReadFindsHistoryLost) {
  give_up_ = true;
  bring(std::vector{entry(1)});
  replica_.resume();
  load();
  bring(fail(Errc::lost_history, "read"));
  EXPECT_EQ(lost_, 1) << "the state that is lost was given up before";
  ASSERT_EQ(log_.loads.size(), 1U);
  load();
  bring(std::vector{entry(1)});
  EXPECT_EQ(replica_.position(), 1U);
}

// The same where the load is under way: what it brings may be older than the loss.
TEST_F(ReplicaTest, BeginsALoadAnewWhenAnOutdatedReadFindsHistoryLost) {
  give_up_ = true;
  bring(std::vector{entry(1)});
  replica_.resume();
  bring(fail(Errc::lost_history, "read"));
  ASSERT_EQ(log_.loads.size(), 2U);
  load();
  EXPECT_TRUE(log_.reads.empty());
  load();
  EXPECT_EQ(log_.reads.size(), 1U);
}

// A single failure is a connection that is made again, and is not reported.
TEST_F(ReplicaTest, SaysOnceThatTheLogIsAway) {
  const auto fail_once = [this](const std::string& why) {
    bring(fail(Errc::unavailable, "read", why));
    loop_.advance(std::chrono::seconds(1));
  };
  fail_once("a");
  bring(std::vector{entry(1)});
  EXPECT_TRUE(said_.empty());
  for (const char* const why : {"b", "c", "d", "e"}) fail_once(why);
  EXPECT_EQ(said_, (std::vector<std::string>{"c"}));
  bring(std::vector{entry(2)});
  EXPECT_EQ(said_, (std::vector<std::string>{"c", "resumed"}));
  fail_once("f");
  fail_once("g");
  EXPECT_EQ(said_.back(), "g");
}

class SnapshotRuleTest : public testing::Test, private ReplicaEvents {
 protected:
  SnapshotRuleTest() : entropy_(1), replica_(log_, loop_, entropy_, {.snapshot_bytes_min = 1024}, ignored_, *this) {
    replica_.start();
    log_.answer_load(Snapshot{});
    loop_.settle();
  }

  void apply(const v1::Record& record) {
    v1::Batch batch;
    batch.set_format(kBatchFormat);
    batch.set_sender(7);
    batch.set_sequence(++position_);
    *batch.add_records() = record;
    log_.answer_read(std::vector{Entry{position_, static_cast<std::int64_t>(position_), batch.SerializeAsString()}});
    if (behind_entry_) loop_.post(behind_entry_);
    loop_.settle();
  }
  static Bytes key(int number) { return "key-" + std::to_string(number); }
  void dispatch(int number) {
    v1::Record record;
    record.mutable_dispatch()->set_ticket(1 + position_);
    record.mutable_dispatch()->set_key(key(number));
    record.mutable_dispatch()->set_kind(v1::TASK);
    record.mutable_dispatch()->set_payload(Bytes(1024, 'x'));
    apply(record);
  }
  void stop(int number) {
    v1::Record record;
    record.mutable_stop()->set_ticket(1 + position_);
    record.mutable_stop()->set_key(key(number));
    apply(record);
  }
  void tick() {
    v1::Record record;
    record.mutable_tick();
    apply(record);
  }
  // Fills the state, whose log alone weighs less than a snapshot is worth.
  void dispatch_all() {
    for (int number = 0; number < kKeys; ++number) dispatch(number);
    ASSERT_EQ(replica_.machine().keys(), kKeys);
    ASSERT_EQ(log_.snapshots_begun, 0);
    full_ = replica_.machine().state_bytes();
  }

  static constexpr int kKeys = 64;
  static constexpr Nanos kLong = std::chrono::seconds(1);

  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_;
  Position position_ = 0;
  std::uint64_t full_ = 0;                // what the state weighed at most
  std::function<void()> behind_entry_{};  // comes right behind each entry, and before what that posts
  bool given_up_ = false;                 // by the test
  EffectsTee ignored_;
  Replica replica_;

 private:
  void history_lost() override { EXPECT_TRUE(given_up_); }
  void broken(const Error& error) override { ADD_FAILURE() << error.message(); }
};

// A snapshot is begun when the log outweighs the state twice, as soon as little comes.
TEST_F(SnapshotRuleTest, TheLogMayOutweighTheStateTwice) {
  dispatch_all();
  loop_.advance(kLong);
  while (replica_.log_bytes() < 2 * full_) {
    EXPECT_EQ(log_.snapshots_begun, 0);
    tick();
    loop_.advance(SnapshotRule::kQuietFor);
  }
  loop_.advance(2 * SnapshotRule::kQuietFor);
  EXPECT_EQ(replica_.machine().state_bytes(), full_);
  EXPECT_EQ(log_.snapshots_begun, 1);
}

// Where much keeps coming it waits, though not for longer than until the log outweighs the state twice as many times.
TEST_F(SnapshotRuleTest, ABusyLogMayOutweighTheStateFourTimes) {
  dispatch_all();
  while (log_.snapshots_begun == 0 && replica_.log_bytes() < 8 * full_) {
    for (std::uint64_t came = 0; came <= SnapshotRule::kQuietBytes && log_.snapshots_begun == 0;) {
      const std::uint64_t before = replica_.log_bytes();
      tick();
      came += replica_.log_bytes() - before;
    }
    if (log_.snapshots_begun == 0) loop_.advance(SnapshotRule::kQuietFor / 4);
  }
  EXPECT_GE(replica_.log_bytes(), 4 * full_);
  EXPECT_LT(replica_.log_bytes(), 4 * full_ + 100);
  EXPECT_EQ(log_.snapshots_committed, 1);
}

// A state that is given up while it is being saved may be wrong: it must not become what others load.
TEST_F(SnapshotRuleTest, OfAStateThatWasGivenUpNoneIsStored) {
  dispatch_all();
  behind_entry_ = [this] {
    if (log_.snapshots_begun == 0 || given_up_) return;
    given_up_ = true;
    replica_.abandon();
  };
  while (!given_up_ && replica_.log_bytes() < 8 * full_) tick();
  loop_.advance(kLong);
  EXPECT_TRUE(given_up_);
  EXPECT_EQ(log_.snapshots_committed, 0);
}

// The others leave quiet moments to the eldest, and write only where it does not.
TEST_F(SnapshotRuleTest, OthersLeaveItToTheEldest) {
  replica_.set_rank(1);
  dispatch_all();
  while (log_.snapshots_begun == 0 && replica_.log_bytes() < 8 * full_) {
    tick();
    loop_.advance(2 * SnapshotRule::kQuietFor);
  }
  EXPECT_GE(replica_.log_bytes(), 5 * full_);
  EXPECT_LT(replica_.log_bytes(), 5 * full_ + 100);
}

// A quiet moment that comes after somebody else's snapshot is left alone.
TEST_F(SnapshotRuleTest, NothingIsDueAfterAnothersSnapshot) {
  dispatch_all();
  while (replica_.log_bytes() < 2 * full_) tick();
  replica_.note_saved(position_);
  loop_.advance(kLong);
  EXPECT_EQ(log_.snapshots_begun, 0);
}

// While the state shrinks, the snapshot is delayed, because it becomes smaller: until the log is four times as large as
// the rest, or eight times if it is busy.
TEST_F(SnapshotRuleTest, AStateThatShrinksIsWaitedFor) {
  dispatch_all();
  int number = 0;
  std::uint64_t before = 0;  // what the state weighed before the last one was stopped
  while (log_.snapshots_begun == 0 && number < kKeys) {
    before = replica_.machine().state_bytes();
    stop(number++);
  }
  ASSERT_EQ(log_.snapshots_begun, 1);
  EXPECT_GE(replica_.log_bytes(), 8 * replica_.machine().state_bytes());
  EXPECT_LT(replica_.log_bytes(), 8 * before + 100);
}

// The engine lost the snapshot that newcomers would load, though not the log: a member writes it again, the eldest
// first.
TEST_F(SnapshotRuleTest, ASnapshotThatIsGoneIsWrittenAgain) {
  dispatch(1);
  replica_.note_saved(1);
  loop_.advance(kLong);
  const auto found = [&](Position stored) {
    log_.snapshot_seen(stored);
    loop_.settle();
  };
  found(1);
  EXPECT_EQ(log_.snapshots_begun, 0) << "it is there";
  replica_.set_rank(1);
  found(0);
  EXPECT_EQ(log_.snapshots_begun, 0) << "the eldest goes first";
  found(0);
  EXPECT_EQ(log_.snapshots_begun, 1);
  found(0);
  EXPECT_EQ(log_.snapshots_begun, 1) << "it is being written";
}

}  // namespace
}  // namespace tenure

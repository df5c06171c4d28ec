// A replica reads ahead while it applies, and waits for a read in flight when the state was given up. It loads
// snapshots and writes them when they are worth it. The machine is a stand-in, which knows no pool.

#include "node/replica.h"

#include <gtest/gtest.h>

#include "machine/decode.h"
#include "machine/effects_tee.h"
#include "machine/state_machine.h"
#include "node/manual_world.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

class StandInMachine final : public StateMachine {
 public:
  StandInMachine() : StateMachine(1, frame, members) {}

  void apply(const EntryView& entry, const v1::Batch* batch, Effects& /*effects*/) override {
    frame.position = entry.position;
    undecoded += batch == nullptr ? 1 : 0;
  }
  std::unique_ptr<SnapshotSource> begin_snapshot() override { return std::make_unique<EmptySnapshot>(); }
  Status restore(const std::vector<Bytes>& chunks) override {
    if (chunks.front() == "damaged") return fail(Errc::corrupt, "load snapshot");
    restored = chunks;
    return {};
  }
  std::uint64_t state_bytes() const override { return bytes; }

  FrameState frame;
  SessionTable members;
  std::uint64_t bytes = 0;
  int undecoded = 0;
  std::vector<Bytes> restored;

 private:
  class EmptySnapshot final : public SnapshotSource {
    std::optional<Bytes> next() override { return std::nullopt; }
    std::uint64_t position() const override { return 0; }
  };
};

Replica::MakeMachine maker_of(StandInMachine*& last) {
  return [&last] {
    auto made = std::make_unique<StandInMachine>();
    last = made.get();
    return made;
  };
}

class ReplicaTest : public testing::Test, private ReplicaEvents {
 protected:
  ReplicaTest() : entropy_(1), replica_(log_, loop_, entropy_, {}, maker_of(machine_), ignored_, *this) {
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
  void load(Result<Snapshot> snapshot = Snapshot{}) {
    log_.answer_load(std::move(snapshot));
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
  bool breaks_ = false;  // whether the log cannot be followed to the end
  int lost_ = 0;
  std::vector<std::string> said_;
  std::vector<Error> broken_;
  EffectsTee ignored_;
  StandInMachine* machine_ = nullptr;  // the last one
  Replica replica_;

 private:
  void applied() override {
    reads_while_applying_ = log_.reads.size();
    if (std::exchange(give_up_, false)) replica_.abandon();
  }
  void history_lost() override { ++lost_; }
  void read_delayed(const Error& error) override { said_.push_back(error.context); }
  void read_resumed() override { said_.emplace_back("resumed"); }
  void broken(const Error& error) override { broken_.push_back(error); }
  void TearDown() override { EXPECT_EQ(broken_.size(), breaks_ ? 1U : 0U); }
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
  EXPECT_EQ(machine_->undecoded, 0);
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

// The machine gets the newest snapshot, and the log is read from there.
TEST_F(ReplicaTest, LoadsASnapshot) {
  replica_.abandon();
  replica_.resume();
  load(Snapshot{Cursor::at(entry(5)), {"one", "two"}});
  bring(std::vector{entry(1)});  // was in flight
  EXPECT_EQ(machine_->restored, (std::vector<Bytes>{"one", "two"}));
  EXPECT_EQ(replica_.position(), 5U);
  ASSERT_EQ(log_.reads.size(), 1U);
  EXPECT_EQ(log_.reads[0].after, Cursor::at(entry(5)));
}

// A snapshot that the machine refuses ends the replica. The state stays.
TEST_F(ReplicaTest, ADamagedSnapshotEndsIt) {
  breaks_ = true;
  bring(std::vector{entry(1)});
  replica_.abandon();
  replica_.resume();
  load(Snapshot{Cursor::at(entry(5)), {"damaged"}});
  bring(std::vector{entry(2)});  // was in flight
  EXPECT_EQ(replica_.machine().position(), 1U);
  EXPECT_TRUE(log_.reads.empty());
  ASSERT_EQ(broken_.size(), 1U);
  EXPECT_EQ(broken_[0].code, Errc::corrupt);
}

// No entry is applied after the one that switches the pool to a version that the machine does not know.
TEST_F(ReplicaTest, AVersionThatIsTooNewEndsIt) {
  breaks_ = true;
  machine_->frame.version = 2;
  bring(std::vector{entry(1), entry(2)});
  EXPECT_EQ(replica_.machine().position(), 1U);
  ASSERT_EQ(broken_.size(), 1U);
  EXPECT_EQ(broken_[0].code, Errc::version);
}

class SnapshotRuleTest : public testing::Test, private ReplicaEvents {
 protected:
  SnapshotRuleTest()
      : entropy_(1),
        replica_(log_, loop_, entropy_, {.snapshot_bytes_min = 1024}, maker_of(machine_), ignored_, *this) {
    replica_.start();
    log_.answer_load(Snapshot{});
    loop_.settle();
  }

  // Applies an entry of this size, after which the state has another size.
  void apply(std::size_t entry_bytes, std::uint64_t state_bytes) {
    machine_->bytes = state_bytes;
    log_.answer_read(std::vector{Entry{++position_, static_cast<std::int64_t>(position_), Bytes(entry_bytes, 'x')}});
    if (behind_entry_) loop_.post(behind_entry_);
    loop_.settle();
  }
  void add_job() { apply(1040, machine_->bytes + kJobBytes); }
  void end_job() { apply(40, machine_->bytes - kJobBytes); }
  void tick() { apply(30, machine_->bytes); }
  // Fills the state, whose log alone weighs less than a snapshot is worth.
  void add_jobs() {
    for (int job = 0; job < kJobs; ++job) add_job();
    ASSERT_EQ(log_.snapshots_begun, 0);
    full_ = machine_->bytes;
  }

  static constexpr int kJobs = 64;
  static constexpr std::uint64_t kJobBytes = 1100;
  static constexpr Nanos kLong = std::chrono::seconds(1);

  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_;
  Position position_ = 0;
  std::uint64_t full_ = 0;                // what the state weighed at most
  std::function<void()> behind_entry_{};  // comes right behind each entry, and before what that posts
  bool given_up_ = false;                 // by the test
  EffectsTee ignored_;
  StandInMachine* machine_ = nullptr;  // the last one
  Replica replica_;

 private:
  void history_lost() override { EXPECT_TRUE(given_up_); }
  void broken(const Error& error) override { ADD_FAILURE() << error.message(); }
};

// A snapshot is begun when the log outweighs the state twice, as soon as little comes.
TEST_F(SnapshotRuleTest, TheLogMayOutweighTheStateTwice) {
  add_jobs();
  loop_.advance(kLong);
  while (replica_.log_bytes() < 2 * full_) {
    EXPECT_EQ(log_.snapshots_begun, 0);
    tick();
    loop_.advance(SnapshotRule::kQuietFor);
  }
  loop_.advance(2 * SnapshotRule::kQuietFor);
  EXPECT_EQ(machine_->bytes, full_);
  EXPECT_EQ(log_.snapshots_begun, 1);
}

// Where much keeps coming it waits, though not for longer than until the log outweighs the state twice as many times.
TEST_F(SnapshotRuleTest, ABusyLogMayOutweighTheStateFourTimes) {
  add_jobs();
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
  add_jobs();
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
  add_jobs();
  while (log_.snapshots_begun == 0 && replica_.log_bytes() < 8 * full_) {
    tick();
    loop_.advance(2 * SnapshotRule::kQuietFor);
  }
  EXPECT_GE(replica_.log_bytes(), 5 * full_);
  EXPECT_LT(replica_.log_bytes(), 5 * full_ + 100);
}

// A quiet moment that comes after somebody else's snapshot is left alone.
TEST_F(SnapshotRuleTest, NothingIsDueAfterAnothersSnapshot) {
  add_jobs();
  while (replica_.log_bytes() < 2 * full_) tick();
  replica_.note_saved(position_);
  loop_.advance(kLong);
  EXPECT_EQ(log_.snapshots_begun, 0);
}

// While the state shrinks, the snapshot is delayed, because it becomes smaller: until the log is four times as large as
// the rest, or eight times if it is busy.
TEST_F(SnapshotRuleTest, AStateThatShrinksIsWaitedFor) {
  add_jobs();
  std::uint64_t before = 0;  // what the state weighed before the last job ended
  while (log_.snapshots_begun == 0 && machine_->bytes != 0) {
    before = machine_->bytes;
    end_job();
  }
  ASSERT_EQ(log_.snapshots_begun, 1);
  EXPECT_GE(replica_.log_bytes(), 8 * machine_->bytes);
  EXPECT_LT(replica_.log_bytes(), 8 * before + 100);
}

// The engine lost the snapshot that newcomers would load, though not the log: a member writes it again, the eldest
// first.
TEST_F(SnapshotRuleTest, ASnapshotThatIsGoneIsWrittenAgain) {
  add_job();
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

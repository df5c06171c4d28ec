// When a member puts a lost pool back, and when it does not: by what it knows of its lease, and by what the engine
// says.

#include "node/healer.h"

#include <gtest/gtest.h>

#include "node/manual_world.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kTimeMs = 1'700'000'000'000;

class HealerTest : public testing::Test, public HealerEvents, public AppenderEvents {
 protected:
  HealerTest() : entropy_(1), appender_(log_, loop_, loop_, entropy_, *this) { make(true); }

  void make(bool on) {
    healer_ =
        std::make_unique<Healer>(loop_, appender_, Healer::Options{.on = on, .lease = 10s, .part_bytes = 1000}, *this);
  }
  static void apply(Machine& machine, std::uint64_t position, const v1::Record& record) {
    v1::Batch batch;
    batch.set_format(1);
    batch.set_sender(9);
    batch.set_sequence(position);
    *batch.add_records() = record;
    Effects ignored;
    machine.apply({position, kTimeMs, batch.SerializeAsString()}, ignored);
  }
  static v1::Record join(std::uint64_t session, const Remembered& remembered = {}, std::uint64_t former = 0) {
    v1::Record record;
    v1::Join& join = *record.mutable_join();
    join.set_session(session);
    join.set_lease_ms(10'000);
    join.set_speaks(1);
    join.set_remembers(remembered.position);
    join.set_remembers_ms(remembered.engine_ms);
    join.set_restores(remembered.restores);
    if (former != 0) join.add_former(former);
    return record;
  }
  // A pool of two sessions and a task.
  static std::unique_ptr<Machine> pool(bool ending = false) {
    auto machine = std::make_unique<Machine>();
    apply(*machine, 1, join(1));
    apply(*machine, 2, join(2));
    v1::Record task;
    task.mutable_dispatch()->set_ticket(7);
    task.mutable_dispatch()->set_kind(v1::TASK);
    task.mutable_dispatch()->set_key("k");
    apply(*machine, 3, task);
    v1::Record shutdown;
    shutdown.mutable_shutdown();
    if (ending) apply(*machine, 4, shutdown);
    return machine;
  }
  // This node joins an empty log, and so does the other one where it lives.
  void find_empty_log(bool other_joins = true) {
    apply(present_, 1, join(3, healer_->remembered(), 1));
    if (other_joins) apply(present_, 2, join(4, healer_->remembered(), 2));
    healer_->look(present_, 3);
  }
  void ask_to_put_back() {
    v1::Ask ask;
    ask.set_question(5);
    ask.mutable_remembered()->set_limit(10);
    ask.mutable_remembered()->set_apply(true);
    healer_->asked({}, ask);
    healer_->look(present_, 3);
  }
  bool restores_within(Nanos span) {
    loop_.advance(span);
    for (; !log_.appends.empty(); loop_.settle()) {
      v1::Batch batch;
      EXPECT_TRUE(batch.ParseFromString(log_.appends[0].data));
      for (const v1::Record& record : batch.records()) {
        restored_ = restored_ || record.has_restore();
        if (record.has_restore()) sent_ = record;
      }
      log_.answer(Position{1});
    }
    return restored_;
  }
  void not_restored(std::string_view why) override { why_ = why; }
  void append_gave_up() override {}
  void append_refused(const Error& /*error*/) override {}

  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_;
  Appender appender_;
  std::unique_ptr<Healer> healer_;
  Machine present_;
  std::string why_;
  bool restored_ = false;
  v1::Record sent_;  // the last part
};

TEST_F(HealerTest, RestoresWhatItsValidLeaseVouchesFor) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), std::nullopt);
  find_empty_log();
  EXPECT_TRUE(restores_within(1s));
}

// It was cut off, and the engine does not tell whether the pool was shut down meanwhile.
TEST_F(HealerTest, DoesNotGuessAfterItsLease) {
  healer_->history_lost(false, loop_.now());
  healer_->reloaded(pool(), std::nullopt);
  find_empty_log();
  EXPECT_FALSE(restores_within(1min));
  EXPECT_NE(why_.find("shut down"), std::string::npos);
}

TEST_F(HealerTest, BelievesAnEngineThatKnowsOfNoRemoval) {
  healer_->history_lost(false, loop_.now());
  healer_->reloaded(pool(), 0);
  find_empty_log();
  EXPECT_TRUE(restores_within(1s));
}

TEST_F(HealerTest, LeavesAPoolThatWasRemoved) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), kTimeMs);
  find_empty_log();
  EXPECT_FALSE(restores_within(1min));
}

// An engine forgets that a pool was removed.
TEST_F(HealerTest, BelievesNoEngineForLong) {
  const Instant applied_at = loop_.now();
  loop_.pass(31min);
  healer_->history_lost(false, applied_at);
  healer_->reloaded(pool(), 0);
  find_empty_log();
  EXPECT_FALSE(restores_within(1min));
}

TEST_F(HealerTest, LeavesAPoolThatWasEnding) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(true), 0);
  find_empty_log();
  EXPECT_FALSE(restores_within(1min));
}

TEST_F(HealerTest, CanBeTurnedOff) {
  make(false);
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), 0);
  EXPECT_FALSE(healer_->remembered().restores);
  find_empty_log();
  EXPECT_FALSE(restores_within(1min));
}

// A person may want it back nevertheless. Once: what is back may end, and is not to come back again.
TEST_F(HealerTest, RemembersForAPersonEvenIfTurnedOff) {
  make(false);
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), 0);
  find_empty_log();
  ask_to_put_back();
  EXPECT_TRUE(restores_within(1s));
  // It is back, and so are the things that have ended since.
  apply(present_, 3, sent_);
  healer_->look(present_, 3);
  restored_ = false;
  ask_to_put_back();
  EXPECT_FALSE(restores_within(1min));
}

// Another member has answered.
TEST_F(HealerTest, ForgetsWhatAnotherMemberHasPutBack) {
  make(false);
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), 0);
  find_empty_log();
  Restored added{};
  added.on_request = true;
  healer_->restored({}, added);
  healer_->look(present_, 3);
  ask_to_put_back();
  EXPECT_FALSE(restores_within(1min));
}

// The keys of a member that has not come back may still be held until its lease is over.
TEST_F(HealerTest, WaitsForTheLeasesOfThoseWhoAreMissing) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), std::nullopt);
  find_empty_log(false);
  EXPECT_FALSE(restores_within(9s));
  EXPECT_TRUE(restores_within(2s));
}

}  // namespace
}  // namespace tenure

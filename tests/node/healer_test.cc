// When a member puts a lost pool back, and when it does not: by what it knows of its lease, and by what the engine
// says.

#include "node/healer.h"

#include <gtest/gtest.h>

#include "machine/limits.h"
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
  static void apply(Machine& machine, std::uint64_t position, const v1::Record& record,
                    std::int64_t time_ms = kTimeMs) {
    v1::Batch batch;
    batch.set_format(1);
    batch.set_sender(9);
    batch.set_sequence(position);
    *batch.add_records() = record;
    Effects ignored;
    machine.apply({position, time_ms, batch.SerializeAsString()}, ignored);
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
    join.set_fragment(remembered.fragment);
    if (former != 0) join.add_former(former);
    return record;
  }
  static v1::Record task(std::uint64_t ticket, BytesView key) {
    v1::Record record;
    record.mutable_dispatch()->set_ticket(ticket);
    record.mutable_dispatch()->set_kind(v1::TASK);
    record.mutable_dispatch()->set_key(Bytes(key));
    return record;
  }
  // A log in which a pool was to be put back, and that was lost before. A task came to it meanwhile.
  static std::unique_ptr<Machine> open_log(const Remembered& remembered = {.position = 9, .engine_ms = kTimeMs}) {
    auto machine = std::make_unique<Machine>();
    apply(*machine, 1, join(5, remembered));
    apply(*machine, 2, task(8, "meanwhile"));
    return machine;
  }
  bool sent_a_job(std::uint64_t ticket) const {
    for (const v1::RememberedKey& key : sent_.restore().keys()) {
      for (const v1::RememberedJob& job : key.jobs()) {
        if (job.job().ticket() == ticket) return true;
      }
    }
    return false;
  }
  // A pool of two sessions and a task.
  static std::unique_ptr<Machine> pool(bool ending = false) {
    auto machine = std::make_unique<Machine>();
    apply(*machine, 1, join(1));
    apply(*machine, 2, join(2));
    apply(*machine, 3, task(7, "k"));
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

// The log was lost again before the pool was back: the pool is put back, not what little came meanwhile.
TEST_F(HealerTest, PutsThePoolBackAfterTwoLosses) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), std::nullopt);
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(open_log(healer_->remembered()), std::nullopt);
  find_empty_log();
  ASSERT_TRUE(restores_within(1s));
  EXPECT_TRUE(sent_a_job(7));
  EXPECT_FALSE(sent_a_job(8));
}

// A node that had joined meanwhile knows only that. It gives those time who remember the pool.
TEST_F(HealerTest, PutsAFragmentBackWhereNobodyRemembersThePool) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(open_log(), std::nullopt);
  EXPECT_TRUE(healer_->remembered().fragment);
  apply(present_, 1, join(3, healer_->remembered(), 5));
  healer_->look(present_, 3);
  EXPECT_FALSE(restores_within(19s));
  ASSERT_TRUE(restores_within(3s));
  EXPECT_TRUE(sent_a_job(8));
}

TEST_F(HealerTest, PutsNoFragmentBackWhileAMemberRemembersThePool) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(open_log(), std::nullopt);
  apply(present_, 1, join(3, healer_->remembered(), 5));
  apply(present_, 2, join(4, {.position = 3, .engine_ms = kTimeMs - 1000, .restores = true}));
  healer_->look(present_, 3);
  EXPECT_FALSE(restores_within(5min));
}

// Its members did not put the pool back in time, so that it is a pool of its own by now.
TEST_F(HealerTest, RemembersALogThatWasLostLongAfterAnother) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), std::nullopt);
  auto other = open_log(healer_->remembered());
  for (int i = 0; i <= kRestoreWithinMs / kLogTimeStepMsMax; ++i) {
    apply(*other, 3 + static_cast<std::uint64_t>(i), {}, kTimeMs + (i + 1) * kLogTimeStepMsMax);
  }
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(std::move(other), std::nullopt);
  EXPECT_FALSE(healer_->remembered().fragment);
  find_empty_log();
  ASSERT_TRUE(restores_within(15s));
  EXPECT_TRUE(sent_a_job(8));
}

// The engine knew that the pool was removed. Then it lost that, too.
TEST_F(HealerTest, DoesNotForgetThatAPoolWasRemoved) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), kTimeMs);
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(open_log(healer_->remembered()), 0);
  EXPECT_NE(healer_->remembered().restores, !healer_->remembered().fragment);
  find_empty_log();
  restores_within(1min);
  EXPECT_FALSE(sent_a_job(7));
}

// It was loading the log when that was removed, and hears of the loss by loading again.
TEST_F(HealerTest, LeavesAPoolThatWasRemovedWhileItWasLoaded) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), 0);
  EXPECT_TRUE(healer_->remembered().restores);
  healer_->reloaded(std::make_unique<Machine>(), kTimeMs);
  find_empty_log();
  EXPECT_FALSE(restores_within(1min));
}

// The open log was shut down, and with it the pool that was to be put back into it.
TEST_F(HealerTest, LeavesAPoolThatWasShutDownBeforeItWasBack) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), std::nullopt);
  auto other = open_log(healer_->remembered());
  v1::Record shutdown;
  shutdown.mutable_shutdown();
  apply(*other, 3, shutdown);
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(std::move(other), std::nullopt);
  find_empty_log();
  EXPECT_FALSE(restores_within(1min));
}

// The first to begin may know less than one that comes a moment later.
TEST_F(HealerTest, LetsAMemberGoFirstThatComesLaterAndKnowsMore) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), std::nullopt);
  find_empty_log();
  apply(present_, 3, join(6, {.position = 50, .engine_ms = kTimeMs + 1000, .restores = true}));
  healer_->look(present_, 3);
  EXPECT_FALSE(restores_within(2s));
  EXPECT_TRUE(restores_within(1s)) << "the other one does nothing";
}

// The member that was putting the pool back has lost its session, and joins again at once.
TEST_F(HealerTest, LetsTheMemberGoOnThatHadBegun) {
  healer_->history_lost(true, loop_.now());
  healer_->reloaded(pool(), std::nullopt);
  find_empty_log();
  const Remembered more{.position = 50, .engine_ms = kTimeMs + 1000, .restores = true};
  apply(present_, 3, join(6, more));
  healer_->look(present_, 3);
  v1::Record part;
  part.mutable_restore()->set_session(6);
  part.mutable_restore()->set_position(more.position);
  apply(present_, 4, part);
  healer_->look(present_, 3);
  ASSERT_TRUE(present_.restoration().under_way);
  EXPECT_FALSE(restores_within(1min)) << "another member is at it";
  v1::Record end;
  end.mutable_end()->set_session(6);
  apply(present_, 5, end);
  apply(present_, 6, join(7, more));
  healer_->look(present_, 3);
  EXPECT_FALSE(restores_within(2s));
  EXPECT_TRUE(restores_within(1s)) << "it does not come back to it";
}

}  // namespace
}  // namespace tenure

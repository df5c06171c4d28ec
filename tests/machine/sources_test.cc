// A resident emits tasks: they and the position are taken in together and once, whoever emits them again, and nobody
// but the present holder does.

#include <gtest/gtest.h>

#include <map>
#include <tenure/emit_limits.hpp>

#include "base/shard.h"
#include "machine/pool.h"

namespace tenure::test {
namespace {

using Tasks = std::vector<std::pair<std::uint64_t, Bytes>>;  // the position of the event, and the key

class Sources : public testing::Test {
 protected:
  void SetUp() override {
    pool_.node("a");
    pool_.running("src");
  }

  // As the holder of `key`, from the position `after`. Returns the ticket.
  std::uint64_t emit(std::uint64_t after, std::uint64_t position, const Tasks& tasks, std::uint64_t epoch = 0,
                     const Bytes& key = "src", const Bytes& source = "src") {
    rec::EmitSpec spec{.source = source,
                       .key = key,
                       .epoch = epoch == 0 ? pool_.epoch(key) : epoch,
                       .position = position,
                       .after = after};
    for (const auto& [at, of] : tasks) {
      spec.tasks.emplace_back(at, rec::dispatch(pool_.new_ticket(), v1::TASK, of, {.payload = of}));
    }
    const std::uint64_t ticket = pool_.new_ticket();
    pool_.append(rec::emit(ticket, spec));
    return ticket;
  }
  std::uint64_t position(const Bytes& source = "src") const {
    const auto found = pool_.machine().sources().find(source);
    return found == pool_.machine().sources().end() ? 0 : found->second.position;
  }
  Bytes answer(std::uint64_t ticket) const {
    for (const Recorder::Settled& settled : pool_.history().settlements) {
      if (settled.ticket == ticket) return settled.text;
    }
    return "none";
  }
  void configure(std::uint32_t max_queued) {
    v1::Configure options;
    options.set_max_queued_jobs(max_queued);
    pool_.append(rec::configure(options));
  }

  TestPool pool_;
};

TEST_F(Sources, TakesTasksAndPositionTogether) {
  const std::uint64_t ticket = emit(0, 5, {{0, "x"}, {0, "y"}});
  EXPECT_EQ(pool_.outcome(ticket), TicketState::done);
  EXPECT_EQ(answer(ticket), "5");
  EXPECT_EQ(position(), 5U);
  EXPECT_EQ(pool_.state("x"), JobState::running);
  EXPECT_EQ(pool_.state("y"), JobState::running);
}

TEST_F(Sources, WhatWasTakenInIsNotTakenInAgain) {
  emit(0, 5, {{0, "x"}});
  for (const std::uint64_t again : {5U, 4U}) {
    const std::uint64_t ticket = emit(0, again, {{0, "y"}});
    EXPECT_EQ(answer(ticket), "5") << "the sender learns how far the source is";
  }
  EXPECT_EQ(pool_.state("y"), std::nullopt);
  EXPECT_EQ(position(), 5U);
}

// The next holder cuts the same events into other emits.
TEST_F(Sources, LeavesOutTheTasksOfEventsThatItHas) {
  emit(0, 5, {{2, "x"}, {5, "y"}});
  emit(0, 8, {{2, "x"}, {5, "y"}, {7, "z"}});
  EXPECT_EQ(position(), 8U);
  EXPECT_EQ(pool_.history().granted_keys(), (std::vector<Bytes>{"src", "x", "y", "z"}));
  EXPECT_EQ(pool_.machine().sources().at("src").tasks, 3U);
}

TEST_F(Sources, AHolderThatHoldsNoMoreChangesNothing) {
  const std::uint64_t old = pool_.epoch("src");
  emit(0, 5, {{0, "x"}});
  pool_.crash(pool_.session_of("a"));
  pool_.node("b");
  pool_.started("src");
  const std::uint64_t stale = emit(5, 9, {{0, "y"}}, old);
  EXPECT_EQ(pool_.refusal(stale), Errc::refused);
  EXPECT_EQ(position(), 5U);
  EXPECT_EQ(pool_.state("y"), std::nullopt);
  emit(5, 9, {{0, "z"}});
  EXPECT_EQ(position(), 9U);
}

TEST_F(Sources, ATaskOrAStrangerEmitsNothing) {
  pool_.task("t");
  EXPECT_EQ(pool_.refusal(emit(0, 1, {}, 0, "t", "s")), Errc::refused);
  EXPECT_EQ(pool_.refusal(emit(0, 1, {}, 77, "nobody", "s")), Errc::refused);
  EXPECT_TRUE(pool_.machine().sources().empty());
}

// Of tenures in other shards only the epoch is known: the highest wins, whatever it brought.
TEST_F(Sources, FromOtherShardsTheHighestEpochWins) {
  v1::Configure options;
  options.set_shard(0);
  options.set_shards(2);
  pool_.append(rec::configure(options));
  Bytes foreign = "f";
  while (shard_of(foreign, 2) == 0) foreign += "f";
  EXPECT_EQ(pool_.outcome(emit(0, 3, {{0, "x"}}, 100, foreign)), TicketState::done);
  const std::uint64_t asks = emit(0, 0, {}, 200, foreign);
  EXPECT_EQ(answer(asks), "3") << "a position of zero asks how far the source is";
  EXPECT_EQ(pool_.refusal(emit(3, 4, {{0, "y"}}, 100, foreign)), Errc::refused) << "and shuts older epochs out";
  EXPECT_EQ(pool_.outcome(emit(3, 4, {{0, "y"}}, 200, foreign)), TicketState::done);
}

// The sender knows that the log was further. If it went on, the tasks that the log has lost would be missing.
TEST_F(Sources, AGapIsRefused) {
  emit(0, 5, {});
  const std::uint64_t ticket = emit(8, 9, {{0, "x"}});
  EXPECT_EQ(pool_.refusal(ticket), Errc::lost_history);
  EXPECT_EQ(position(), 5U);
  EXPECT_EQ(pool_.state("x"), std::nullopt);
}

TEST_F(Sources, WithoutRoomForAllNothingIsTakenIn) {
  configure(3);
  pool_.task("busy");  // runs: it is granted, and waits for its handler as far as the bound is concerned
  pool_.task("busy");
  const std::uint64_t ticket = emit(0, 5, {{0, "x"}, {0, "y"}});
  EXPECT_EQ(pool_.refusal(ticket), Errc::pool_full);
  EXPECT_EQ(position(), 0U);
  EXPECT_EQ(pool_.state("x"), std::nullopt);
  pool_.done("busy");
  EXPECT_EQ(pool_.outcome(emit(0, 5, {{0, "x"}, {0, "y"}})), TicketState::done);
  EXPECT_EQ(pool_.machine().queued(), 3U);
}

TEST_F(Sources, MoreThanTheQueueEverHoldsIsInvalid) {
  configure(1);
  EXPECT_EQ(pool_.refusal(emit(0, 5, {{0, "x"}, {0, "y"}})), Errc::invalid);
}

// Nothing is lost without a word, and the source goes on.
TEST_F(Sources, ATaskForTheKeyOfAResidentBecomesADeadLetter) {
  pool_.running("taken");
  emit(0, 5, {{0, "taken"}, {0, "x"}});
  EXPECT_EQ(position(), 5U);
  EXPECT_EQ(pool_.state("x"), JobState::running);
  ASSERT_EQ(pool_.machine().dead().size(), 1U);
  const auto& [id, letter] = *pool_.machine().dead().begin();
  EXPECT_EQ(letter.key, "taken");
  EXPECT_NE(letter.error.find("resident"), Bytes::npos);
  EXPECT_EQ(pool_.machine().dead_payload(letter), "taken");
  EXPECT_EQ(pool_.machine().sources().at("src").buried, 1U);
  // Once the resident is gone, the task can be tried.
  EXPECT_EQ(pool_.refusal(pool_.retry_dead(id)), Errc::key_exists);
  pool_.done("taken");
  pool_.retry_dead(id);
  EXPECT_EQ(pool_.state("taken"), JobState::running);
}

TEST_F(Sources, MalformedEmitsChangeNothing) {
  EXPECT_EQ(pool_.refusal(emit(0, 5, {{0, ""}})), Errc::invalid);
  EXPECT_EQ(pool_.refusal(emit(0, 5, {{6, "x"}})), Errc::invalid) << "an event behind the position of its emit";
  EXPECT_EQ(pool_.refusal(emit(0, 0, {{0, "x"}})), Errc::invalid);
  EXPECT_EQ(pool_.refusal(emit(0, 5, {{0, "x"}}, 0, "src", "")), Errc::invalid);
  EXPECT_EQ(pool_.refusal(emit(0, 5, Tasks(kEmitTasksMax + 1, {0, "x"}))), Errc::invalid);
  EXPECT_TRUE(pool_.machine().sources().empty());
}

// What a feeder says besides: the shard of its key keeps it.
class Reports : public Sources {
 protected:
  std::uint64_t report(std::uint64_t position, const v1::Emit& said, const Tasks& tasks = {}) {
    rec::EmitSpec spec{.source = "src", .key = "src", .epoch = pool_.epoch("src"), .position = position};
    for (const auto& [at, of] : tasks) {
      spec.tasks.emplace_back(at, rec::dispatch(pool_.new_ticket(), v1::TASK, of, {.payload = of}));
    }
    spec.report = said;
    const std::uint64_t ticket = pool_.new_ticket();
    pool_.append(rec::emit(ticket, spec));
    return ticket;
  }
  static v1::Emit lost(std::uint64_t first, std::uint64_t last, std::uint64_t count) {
    v1::Emit said;
    said.mutable_lost()->set_first(first);
    said.mutable_lost()->set_last(last);
    said.mutable_lost()->set_count(count);
    return said;
  }
  const Source& source() const { return pool_.machine().sources().at("src"); }
};

TEST_F(Reports, LostEventsCountOnceTogetherWithThePosition) {
  report(12, lost(3, 10, 8), {{12, "x"}});
  report(12, lost(3, 10, 8));
  report(11, lost(3, 10, 8));
  EXPECT_EQ(source().lost, 8U);
  EXPECT_EQ(source().lost_first, 3U);
  EXPECT_EQ(source().lost_last, 10U);
  // The next holder cuts otherwise, and finds more of them gone: only what lies behind the position is new.
  report(20, lost(1, 15, 15));
  EXPECT_EQ(source().lost, 8U + 3U);
  EXPECT_EQ(source().lost_first, 13U);
  EXPECT_EQ(source().lost_last, 15U);
  // Where positions are not dense, there are fewer.
  report(100, lost(21, 90, 2));
  EXPECT_EQ(source().lost, 13U);
}

TEST_F(Reports, ALossThatCannotBeIsRefused) {
  for (const v1::Emit& wrong : {lost(0, 5, 5), lost(6, 5, 1), lost(1, 11, 1), lost(1, 5, 6), lost(1, 5, 0)}) {
    EXPECT_EQ(pool_.refusal(report(10, wrong)), Errc::invalid);
  }
  EXPECT_TRUE(pool_.machine().sources().empty());
}

TEST_F(Reports, AnEventThatCannotBeATaskIsADeadLetter) {
  configure(2);
  rec::EmitSpec spec{.source = "src", .key = "src", .epoch = pool_.epoch("src"), .position = 3};
  for (std::uint64_t i = 0; i < 3; ++i) {
    spec.tasks.emplace_back(0, rec::dispatch(pool_.new_ticket(), v1::TASK, "k" + std::to_string(i), {.payload = "p"}));
  }
  v1::Record record = rec::emit(77, spec);
  record.mutable_emit()->mutable_tasks(1)->set_error("too large");
  pool_.append(record);
  EXPECT_EQ(pool_.outcome(77), TicketState::done) << "it needs no room in the queue";
  EXPECT_EQ(pool_.state("k1"), std::nullopt);
  ASSERT_EQ(pool_.machine().dead().size(), 1U);
  EXPECT_EQ(pool_.machine().dead().begin()->second.error, "too large");
  EXPECT_EQ(source().tasks, 3U);
  EXPECT_EQ(source().buried, 1U);
}

TEST_F(Reports, TroubleAndTheEndAreKeptUntilTheyChange) {
  v1::Emit said;
  said.set_end(50);
  said.set_trouble("away");
  report(0, said);
  EXPECT_EQ(source().end, 50U);
  EXPECT_EQ(source().trouble, "away");
  report(5, {});
  EXPECT_EQ(source().trouble, "away");
  said.set_trouble("");
  report(0, said);
  EXPECT_EQ(source().trouble, "");
  Machine other;
  ASSERT_TRUE(other.restore(save(pool_.machine())));
  EXPECT_EQ(other.sources().at("src").end, 50U);
}

// It is in the log when the emit is, and comes from the tenure alone.
TEST_F(Reports, ACheckpointIsForTheNextHolder) {
  v1::Emit said;
  said.set_checkpoint("marks");
  report(5, said);
  pool_.crash(pool_.session_of("a"));
  pool_.node("b");
  EXPECT_EQ(pool_.machine().find("src")->checkpoint, "marks");
  rec::EmitSpec stale{.source = "src", .key = "src", .epoch = pool_.epoch("src") - 1, .position = 6};
  stale.report.set_checkpoint("stale");
  pool_.append(rec::emit(78, stale));
  EXPECT_EQ(pool_.refusal(78), Errc::refused);
  EXPECT_EQ(pool_.machine().find("src")->checkpoint, "marks");
}

TEST_F(Sources, AForgottenSourceBeginsAnew) {
  emit(0, 5, {});
  const std::uint64_t ticket = pool_.new_ticket();
  pool_.append(rec::forget_source(ticket, "src"));
  EXPECT_EQ(pool_.outcome(ticket), TicketState::accepted);
  EXPECT_EQ(position(), 0U);
  const std::uint64_t again = pool_.new_ticket();
  pool_.append(rec::forget_source(again, "src"));
  EXPECT_EQ(pool_.refusal(again), Errc::no_such_key);
}

TEST_F(Sources, TheirNumberIsBounded) {
  TestPool::Records records;
  for (std::size_t i = 0; i <= kSourcesMax; ++i) {
    records.push_back(
        rec::emit(pool_.new_ticket(),
                  {.source = "s" + std::to_string(i), .key = "src", .epoch = pool_.epoch("src"), .position = 1}));
  }
  pool_.append(records);
  EXPECT_EQ(pool_.machine().sources().size(), kSourcesMax);
  EXPECT_EQ(pool_.seen().settlements.back().code, Errc::pool_full);
}

TEST_F(Sources, AnEndingPoolTakesNothingIn) {
  pool_.append(rec::shutdown());
  EXPECT_EQ(pool_.refusal(emit(0, 5, {{0, "x"}})), Errc::shutting_down);
}

TEST_F(Sources, ASnapshotHasThem) {
  emit(0, 5, {{0, "x"}});
  pool_.running("taken");
  emit(5, 6, {{0, "taken"}});
  Machine other;
  ASSERT_TRUE(other.restore(save(pool_.machine())));
  EXPECT_EQ(other.state_digest(), pool_.machine().state_digest());
  EXPECT_EQ(other.sources().at("src").position, 6U);
  EXPECT_EQ(other.sources().at("src").epoch, pool_.epoch("src"));
}

// Members of version 1 skip the records. So does everybody, until all members speak version 2.
TEST(SourcesByVersion, ArePassedOverUntilTheSwitch) {
  TestPool pool;
  pool.append({rec::join(1, 1), rec::add_worker(1, "a")});
  pool.running("src");
  const rec::EmitSpec spec{.source = "src",
                           .key = "src",
                           .epoch = pool.epoch("src"),
                           .position = 3,
                           .after = 0,
                           .tasks = {{0, rec::dispatch(50, v1::TASK, "x")}}};
  const std::uint64_t digest = pool.machine().state_digest();
  const std::uint64_t settled = pool.history().settlements.size();
  pool.append(rec::emit(51, spec));
  pool.append(rec::forget_source(52, "src"));
  EXPECT_EQ(pool.history().settlements.size(), settled);
  EXPECT_TRUE(pool.machine().sources().empty());
  EXPECT_EQ(pool.state("x"), std::nullopt);
  EXPECT_NE(pool.machine().state_digest(), digest) << "of the entries alone: the position has moved";
  pool.append({rec::beat(1, 1, 2), rec::switch_version(2)});
  pool.append(rec::emit(53, spec));
  EXPECT_EQ(pool.machine().sources().at("src").position, 3U);
}

// A log that lost everything gets the positions back with the jobs. Until that is decided, nothing is taken in: a
// source that seems to be at its beginning would be emitted again.
TEST(SourcesRestored, PositionsComeBackBeforeAnythingIsTakenIn) {
  TestPool old;
  old.node("a");
  old.running("src");
  const rec::EmitSpec spec{.source = "src",
                           .key = "src",
                           .epoch = old.epoch("src"),
                           .position = 7,
                           .after = 0,
                           .tasks = {{0, rec::dispatch(50, v1::TASK, "x")}}};
  old.append(rec::emit(51, spec));

  TestPool fresh(1, TestPool::kSender + 1);
  v1::Configure two_shards;  // of which the resident is in the other
  two_shards.set_shards(2);
  two_shards.set_shard(1 - shard_of("src", 2));
  v1::Record join = rec::join(9);
  join.mutable_join()->set_remembers(old.position());
  join.mutable_join()->set_restores(true);
  *join.mutable_join()->mutable_configure() = two_shards;
  fresh.append({join, rec::add_worker(9, "w")});
  fresh.append(rec::emit(61, spec));
  EXPECT_EQ(fresh.refusal(61), Errc::busy);
  EXPECT_EQ(fresh.state("x"), std::nullopt);

  v1::Record record;
  record.mutable_restore()->set_session(9);
  const auto source = old.machine().remembered();
  source->next(1U << 20, *record.mutable_restore());
  ASSERT_TRUE(source->at_end());
  fresh.append(record);
  EXPECT_EQ(fresh.machine().sources().at("src").position, 7U);
  EXPECT_EQ(fresh.state("x"), JobState::running);
  fresh.append(rec::emit(62, spec));
  EXPECT_EQ(fresh.outcome(62), TicketState::done);
  EXPECT_EQ(fresh.machine().sources().at("src").tasks, 1U) << "it has them already";
}

}  // namespace
}  // namespace tenure::test

// Which jobs a worker takes: placement looks only at those that take a job, a job that nobody takes waits, and a pool
// of version 1 knows nothing of it.

#include <gtest/gtest.h>

#include "machine/many_keys.h"

namespace tenure::test {
namespace {

rec::WorkerSpec takes(const std::vector<Bytes>& texts) { return {.takes = rec::takes_of(texts)}; }

TEST(Takes, AWorkerGetsOnlyWhatItTakes) {
  TestPool pool;
  pool.node("mailer", takes({"task:email"}));
  pool.node("keeper", takes({"resident"}));
  pool.task("t", {.type = "email"});
  pool.resident("r", {.type = "anything"});
  EXPECT_EQ(pool.holder("t"), "mailer");
  EXPECT_EQ(pool.holder("r"), "keeper");
  EXPECT_EQ(pool.history().grants.at(0).type, "email");
  EXPECT_EQ(pool.info("r")->type, "anything");
  pool.task("u", {.type = "sms"});
  pool.task("v");
  EXPECT_EQ(pool.state("u"), JobState::queued);
  EXPECT_EQ(pool.state("v"), JobState::queued);
  EXPECT_EQ(pool.info("u")->target, "");
}

TEST(Takes, AJobThatNobodyTakesWaitsForOneThatDoes) {
  TestPool pool;
  pool.node("a", takes({"task"}));
  pool.resident("r");
  pool.resident("x", {.type = "x"});
  pool.pass(60'000);
  EXPECT_EQ(pool.state("r"), JobState::queued);
  pool.node("b", takes({"resident:x"}));
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"x"});
  pool.node("c");
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"r"});
}

// A lambda joined a pool of fifty residents, and half of them were gone.
TEST(Takes, AWorkerThatTakesNoResidentsMovesNone) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  run_keys(pool);
  const auto before = holders(pool);
  pool.node("lambda", takes({"task"}));
  pool.settle();
  EXPECT_EQ(holders(pool), before);
  pool.leave(pool.session_of("lambda"));
  pool.settle();
  EXPECT_EQ(holders(pool), before);
  EXPECT_EQ(pool.machine().stats().moves, 0U);
}

TEST(Takes, AJoinMovesOnlyWhatTheNewcomerTakesAndGets) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  for (int i = 0; i < kKeys; ++i) pool.resident(key(i), {.type = i % 2 == 0 ? "even" : "odd"});
  pool.settle();
  const auto before = holders(pool);
  pool.node("c", takes({"resident:even"}));
  pool.settle();
  int moved = 0;
  for (int i = 0; i < kKeys; ++i) {
    const Bytes holder = pool.holder(key(i));
    EXPECT_TRUE(holder == before.at(key(i)) || (holder == "c" && i % 2 == 0)) << key(i);
    moved += holder == "c" ? 1 : 0;
  }
  EXPECT_NEAR(moved, kKeys / 6.0, 15);
  EXPECT_EQ(pool.machine().stats().moves, static_cast<std::uint64_t>(moved));
}

TEST(Takes, UnderJumpOnlyThoseThatTakeAJobCount) {
  TestPool pool;
  v1::Configure options;
  options.set_assignment(v1::Configure::JUMP);
  pool.append(rec::configure(options));
  pool.node("a");
  pool.node("b");
  run_keys(pool);
  const auto before = holders(pool);
  pool.node("lambda", takes({"task"}));
  pool.settle();
  EXPECT_EQ(holders(pool), before);
}

// The next task of a key may be of another type: then another worker gets it.
TEST(Takes, TheTasksOfAKeyGoToWhoTakesEach) {
  TestPool pool;
  pool.node("mailer", takes({"task:email"}));
  pool.node("texter", takes({"task:sms"}));
  pool.task("k", {.type = "email"});
  pool.task("k", {.type = "sms"});
  pool.task("k", {.type = "fax"});
  pool.task("k", {.type = "email"});
  EXPECT_EQ(pool.holder("k"), "mailer");
  pool.done("k");
  EXPECT_EQ(pool.holder("k"), "texter");
  pool.done("k");
  EXPECT_EQ(pool.state("k"), JobState::queued) << "order within the key comes first";
  pool.node("faxer", takes({"task:fax"}));
  EXPECT_EQ(pool.holder("k"), "faxer");
  pool.done("k");
  EXPECT_EQ(pool.holder("k"), "mailer");
}

TEST(Takes, ADelayedJobIsPlacedWhenItIsDue) {
  TestPool pool;
  pool.node("a", takes({"task:x", "resident:x"}));
  pool.node("b", takes({"task", "resident"}));
  pool.node("c", takes({"task:y", "resident:y"}));
  for (int i = 0; i < 20; ++i) {
    pool.task("t" + std::to_string(i), {.delay_ms = 1'000, .type = "y"});
    pool.resident("r" + std::to_string(i), {.delay_ms = 1'000, .type = "y"});
  }
  pool.pass(2'000);
  int by_c = 0;
  for (const auto& [name, holder] : holders(pool)) {
    EXPECT_TRUE(holder == "b" || holder == "c") << name << " on " << holder;
    by_c += holder == "c" ? 1 : 0;
  }
  EXPECT_NEAR(by_c, 20, 12);
}

TEST(Takes, AServerThatDoesNotTakeAJobDoesNotGetIt) {
  TestPool pool;
  pool.node("a");
  rec::WorkerSpec server = takes({"task"});
  server.serves = {"k", "t"};
  pool.node("b", server);
  pool.running("k");
  EXPECT_EQ(pool.holder("k"), "a");
  pool.task("t");
  EXPECT_EQ(pool.holder("t"), "b");
}

TEST(Takes, AChoiceOfAWorkerThatDoesNotTakeTheJobIsRefused) {
  TestPool pool;
  v1::Configure options;
  options.set_assignment(v1::Configure::CHOSEN);
  pool.append(rec::configure(options));
  pool.chooser("a", takes({"task:x"}));
  pool.node("b", takes({"task:y"}));
  pool.task("k", {.type = "x"});
  pool.task("k", {.type = "y"});
  pool.append(pool.choice("k", "b"));
  EXPECT_EQ(pool.refused(), 1U);
  pool.append(pool.choice("k", "a"));
  EXPECT_EQ(pool.holder("k"), "a");
  pool.done("k");
  EXPECT_EQ(pool.state("k"), JobState::queued);
  EXPECT_EQ(pool.seen().choices, std::vector<Bytes>{"k"}) << "its next job needs a choice of its own";
  pool.append(pool.choice("k", "b"));
  EXPECT_EQ(pool.holder("k"), "b");
}

// Types of the library itself have to be named, under each assignment: a worker that takes everything takes none of
// them, whether it was there first or comes later.
TEST(Takes, TypesOfTheLibraryGoOnlyToWorkersThatNameThem) {
  for (const auto assignment : {v1::Configure::RENDEZVOUS, v1::Configure::JUMP, v1::Configure::CHOSEN}) {
    TestPool pool;
    v1::Configure options;
    options.set_assignment(assignment);
    pool.append(rec::configure(options));
    if (assignment == v1::Configure::CHOSEN) {
      pool.chooser("all", {});
    } else {
      pool.node("all");
    }
    pool.resident("own", {.type = ".own"});
    EXPECT_EQ(pool.state("own"), JobState::queued);
    pool.node("named", takes({"resident:.own"}));
    EXPECT_EQ(pool.holder("own"), "named");
    pool.started("own");
    pool.node("later");
    pool.settle();
    EXPECT_EQ(pool.holder("own"), "named");
    pool.crash(pool.session_of("named"));
    EXPECT_EQ(pool.state("own"), JobState::queued);
    pool.node("again", takes({"resident:.own"}));
    EXPECT_EQ(pool.holder("own"), "again");
    EXPECT_EQ(pool.refusal(pool.task("t", {.type = ".own"})), Errc::invalid) << "tasks are the users'";
  }
}

// A worker for the library's types stands in nobody's way: the jobs of users are placed without it.
TEST(Takes, AWorkerOfTheLibraryMovesNoJobOfUsers) {
  TestPool pool;
  pool.node("a");
  pool.node("b");
  run_keys(pool);
  const auto before = holders(pool);
  pool.node("own", takes({"resident:.own"}));
  pool.settle();
  EXPECT_EQ(holders(pool), before);
  for (int i = 0; i < 20; ++i) {
    const Bytes task = "t" + std::to_string(i);
    pool.task(task);
    EXPECT_NE(pool.holder(task), "own");
    EXPECT_NE(pool.holder(task), "");
  }
  pool.append(rec::drain("a"));
  pool.append(rec::drain("b"));
  pool.settle();
  pool.task("late");
  EXPECT_EQ(pool.state("late"), JobState::queued);
  pool.append(rec::shutdown());
  EXPECT_NE(pool.holder("late"), "") << "a drained worker finishes the tasks, since no open one takes them";
}

// Keys are inherited in one move by a worker that takes the same.
TEST(Takes, AReplacementThatTakesLessGetsOnlyThat) {
  TestPool pool;
  pool.node("a");
  pool.node("old");
  run_keys(pool);
  const auto before = holders(pool);
  rec::WorkerSpec spec = takes({"task"});
  spec.replaces = "old";
  pool.node("new", spec);
  pool.settle();
  for (const auto& [name, holder] : holders(pool)) EXPECT_EQ(holder, "a") << name;
}

TEST(Takes, TypesHaveBounds) {
  TestPool pool;
  pool.node("a", takes({"resident"}));
  EXPECT_EQ(pool.refusal(pool.task("k", {.type = Bytes(kTypeBytesMax + 1, 't')})), Errc::invalid);
  v1::Configure options;
  options.set_max_queued_jobs(10'000);
  pool.append(rec::configure(options));
  for (std::size_t i = 0; i < kTypesMax; ++i) pool.task("k", {.type = "t" + std::to_string(i)});
  EXPECT_EQ(pool.refusal(pool.task("k", {.type = "one more"})), Errc::pool_full);
  EXPECT_EQ(pool.refusal(pool.task("k", {.type = "t7"})), std::nullopt);
  EXPECT_EQ(pool.refusal(pool.task("k")), std::nullopt);
  EXPECT_EQ(pool.refusal(pool.task("k", {.type = Bytes(kTypeBytesMax, 't')})), Errc::pool_full);
  // A type that no job has any more makes room.
  pool.stop("k");
  pool.task("other", {.type = "one more"});
  EXPECT_EQ(pool.info("other")->type, "one more");
}

// Whatever a type was called before: its number may mean another one now.
TEST(Takes, ANumberThatIsGivenAgainMeansTheNewType) {
  TestPool pool;
  pool.node("a", takes({"task:x"}));
  pool.node("b", takes({"task:y"}));
  pool.task("k", {.type = "x"});
  pool.done("k");
  pool.task("k", {.type = "y"});
  EXPECT_EQ(pool.holder("k"), "b");
  pool.task("u", {.type = "x"});
  EXPECT_EQ(pool.holder("u"), "a");
}

TEST(Takes, WhatAWorkerTakesHasBoundsToo) {
  TestPool pool;
  const std::uint64_t session = pool.join();
  v1::Record record = rec::add_worker(session, "a", takes({"task:x"}));
  record.mutable_add_taker()->mutable_takes(0)->set_kind_plus_one(3);
  pool.append(record);
  record.mutable_add_taker()->mutable_takes(0)->set_kind_plus_one(0);
  record.mutable_add_taker()->mutable_takes(0)->set_type(Bytes(kTypeBytesMax + 1, 't'));
  pool.append(record);
  // Of either kind: each counts twice.
  record.mutable_add_taker()->clear_takes();
  for (std::size_t i = 0; i <= kTakesMax / 2; ++i) {
    v1::Takes& one = *record.mutable_add_taker()->add_takes();
    one.set_typed(true);
    one.set_type(std::to_string(i));
  }
  pool.append(record);
  EXPECT_EQ(pool.history().workers_refused, (std::vector<Errc>{Errc::invalid, Errc::invalid, Errc::invalid}));
  record.mutable_add_taker()->mutable_takes()->RemoveLast();
  pool.append(record);
  EXPECT_EQ(pool.machine().workers().by_age.size(), 1U);
  Machine other;
  ASSERT_TRUE(other.restore(save(pool.machine())));
  EXPECT_EQ(other.state_digest(), pool.machine().state_digest());
}

TEST(Takes, DeadJobsKeepTheirType) {
  TestPool pool;
  pool.node("a", takes({"task:x", "resident:x"}));
  pool.task("t", {.type = "x"});
  pool.failed("t", v1::Failed::BURY);
  pool.resident("r", {.type = "x"});
  pool.failed("r", v1::Failed::BURY);
  ASSERT_EQ(pool.machine().dead().size(), 2U);
  for (const auto& [id, letter] : pool.machine().dead()) EXPECT_EQ(pool.machine().dead_type(letter), "x");
  Machine other;
  ASSERT_TRUE(other.restore(save(pool.machine())));
  EXPECT_EQ(other.state_digest(), pool.machine().state_digest());
  const std::uint64_t first = pool.machine().dead().begin()->first;
  pool.retry_dead(first);
  pool.retry_dead(pool.machine().dead().begin()->first);
  EXPECT_EQ(pool.holder("t"), "a");
  EXPECT_EQ(pool.holder("r"), "a");
}

TEST(Takes, TravelWithTheSnapshot) {
  TestPool pool;
  pool.node("a", takes({"task:x", "resident"}));
  pool.node("b", takes({"task:y", "task:z"}));
  pool.task("k", {.type = "x"});
  pool.task("k", {.type = "y"});
  pool.task("nobody", {.type = "w"});
  pool.task("later", {.delay_ms = 9'000, .type = "z"});
  Machine other;
  ASSERT_TRUE(other.restore(save(pool.machine())));
  EXPECT_EQ(other.state_digest(), pool.machine().state_digest());
  EXPECT_EQ(other.find("k")->type, "x");
  EXPECT_EQ(other.workers()[other.workers().find("b")].takes, rec::takes_of({"task:y", "task:z"}));
}

// Version 1: the record of such a worker is skipped, and types are not heard of.
TEST(TakesByVersion, APoolOfVersionOneHasOnlyWorkersThatTakeEverything) {
  TestPool pool;
  pool.append({rec::join(1, 1), rec::beat(1, 1, 2)});
  pool.append(rec::add_worker(1, "a", takes({"task:x"})));
  EXPECT_EQ(pool.machine().stats().records_unknown, 1U);
  EXPECT_TRUE(pool.machine().workers().by_age.empty());
  pool.append(rec::add_worker(1, "b"));
  pool.task("k", {.type = "y"});
  EXPECT_EQ(pool.info("k")->type, "");
  EXPECT_EQ(pool.holder("k"), "b");
  pool.task("long", {.type = Bytes(kTypeBytesMax + 1, 't')});
  EXPECT_EQ(pool.holder("long"), "b");

  pool.append(rec::switch_version(2));
  EXPECT_EQ(pool.seen().lines, std::vector<Bytes>{"version_switched 2"});
  pool.append(rec::add_worker(1, "a", takes({"task:x"})));
  EXPECT_EQ(pool.machine().workers().by_age.size(), 2U);
  for (int i = 0; i < 20; ++i) pool.task(key(i), {.type = i % 2 == 0 ? "x" : "y"});
  for (int i = 1; i < 20; i += 2) EXPECT_EQ(pool.holder(key(i)), "b");
  EXPECT_EQ(pool.info(key(0))->type, "x");
}

// Whoever dispatches first does not know whose pool it will be.
TEST(TakesByVersion, JobsFromBeforeThePoolWasCreatedKeepTheirTypesIfItsCreatorKnowsThem) {
  for (const std::uint32_t creator : {1U, 2U}) {
    TestPool pool;
    pool.task("k", {.type = "x"});
    pool.task("k", {.type = "y"});
    pool.resident("r", {.delay_ms = 1'000, .type = "x"});
    EXPECT_EQ(pool.info("k")->type, "x");
    Machine older(1);
    Recorder ignored;
    for (const LoggedEntry& entry : pool.log()) older.apply(entry.view(), ignored);
    EXPECT_EQ(older.digest(), pool.machine().digest());
    pool.append(rec::join(1, creator));
    EXPECT_EQ(pool.info("k")->type, creator == 1 ? "" : "x");
    EXPECT_EQ(pool.info("r")->type, creator == 1 ? "" : "x");
    older.apply(pool.log().back().view(), ignored);
    if (creator == 1) {
      EXPECT_EQ(older.state_digest(), pool.machine().state_digest());
    }
    EXPECT_EQ(older.version(), creator);
  }
}

// A long task must not hold up others while a worker has nothing to do.
TEST(Helpers, GetWhatWaitsForAFullWorker) {
  TestPool pool;
  pool.node("a", {.window = 1, .helps = true});
  pool.task("t1");
  pool.task("t2");
  pool.task("t3");
  EXPECT_EQ(pool.state("t3"), JobState::queued);
  pool.node("b", {.window = 1, .helps = true});
  EXPECT_EQ(pool.state("t2"), JobState::running) << "the one that has waited longest";
  EXPECT_EQ(pool.state("t3"), JobState::queued);
  pool.done("t2");
  EXPECT_EQ(pool.holder("t3"), "b");
  EXPECT_EQ(pool.holder("t1"), "a");
}

TEST(Helpers, GetOnlyWhatTheyTakeAndNothingThatIsServed) {
  TestPool pool;
  pool.node("full", {.window = 1, .serves = {"served"}});
  pool.task("busy");
  pool.task("served");
  pool.task("other", {.type = "x"});
  rec::WorkerSpec picky{.takes = rec::takes_of({"task:y"}), .helps = true};
  pool.node("picky", picky);
  EXPECT_EQ(pool.state("other"), JobState::queued);
  pool.node("helper", {.window = 1000, .helps = true});
  EXPECT_EQ(pool.state("served"), JobState::queued);
  EXPECT_EQ(pool.holder("other"), "helper");
}

TEST(Helpers, WorkersThatDoNotHelpLeaveTasksWhereTheyWait) {
  TestPool pool;
  pool.node("a", {.window = 1});
  for (int i = 0; i < 20; ++i) pool.task("t" + std::to_string(i));
  pool.node("b", {.window = 1});
  pool.node("c", {.window = 1});
  std::size_t running = 0;
  for (int i = 0; i < 20; ++i) running += pool.state("t" + std::to_string(i)) == JobState::running ? 1 : 0;
  EXPECT_EQ(running, 3U) << "each its own";
}

}  // namespace
}  // namespace tenure::test

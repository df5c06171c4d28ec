// Dispatched jobs are refused by rule, or accepted, kept in order, and never lost.

#include <gtest/gtest.h>

#include "machine/pool.h"

namespace tenure::test {
namespace {

TEST(Dispatch, AResidentIsGrantedAtOnceWhereAWorkerIs) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  const std::uint64_t ticket = pool.resident("k", {.payload = "p"});
  ASSERT_EQ(pool.seen().grants.size(), 1U);
  const Recorder::Granted& grant = pool.seen().grants[0];
  EXPECT_EQ(grant.tenure.session, session);
  EXPECT_EQ(grant.tenure.worker, "a");
  EXPECT_EQ(grant.payload, "p");
  EXPECT_EQ(grant.ticket, ticket);
  EXPECT_TRUE(grant.first);
  EXPECT_EQ(grant.attempt, 1U);
  EXPECT_EQ(pool.outcomes(ticket), std::vector{TicketState::accepted});
  EXPECT_EQ(pool.state("k"), JobState::starting);
}

TEST(Dispatch, AKeyWithAResidentIsRefusedToAllOthers) {
  TestPool pool;
  pool.node("a");
  pool.resident("k");
  EXPECT_EQ(pool.refusal(pool.resident("k")), Errc::key_exists);
  EXPECT_EQ(pool.refusal(pool.task("k")), Errc::key_exists);
  pool.task("t");
  EXPECT_EQ(pool.refusal(pool.resident("t")), Errc::key_exists);
}

TEST(Dispatch, OfTwoThatRaceExactlyOneWins) {
  TestPool pool;
  pool.append({rec::dispatch(1, v1::RESIDENT, "k"), rec::dispatch(2, v1::RESIDENT, "k")});
  EXPECT_EQ(pool.outcome(1), TicketState::accepted);
  EXPECT_EQ(pool.refusal(2), Errc::key_exists);
}

// The key is taken from the acceptance on, in every state its job may be in, and free when the job is gone.
TEST(Dispatch, TheKeyIsFreeAgainOnceItsJobIsGone) {
  TestPool pool;
  EXPECT_EQ(pool.outcome(pool.resident("k")), TicketState::accepted);
  EXPECT_EQ(pool.refusal(pool.resident("k")), Errc::key_exists);
  pool.node("a");
  pool.started("k");
  EXPECT_EQ(pool.refusal(pool.resident("k")), Errc::key_exists);
  pool.stop("k");
  EXPECT_EQ(pool.refusal(pool.resident("k")), Errc::key_exists);
  pool.released("k");
  EXPECT_EQ(pool.outcome(pool.resident("k")), TicketState::accepted);
}

TEST(Dispatch, TasksOfAKeyRunOneAtATimeInOrder) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t first = pool.task("k");
  const std::uint64_t second = pool.task("k");
  const std::uint64_t third = pool.task("k");
  std::uint64_t last_epoch = 0;
  for (const std::uint64_t ticket : {first, second, third}) {
    EXPECT_EQ(pool.info("k")->ticket, ticket);
    EXPECT_GT(pool.epoch("k"), last_epoch);
    last_epoch = pool.epoch("k");
    pool.done("k", "r");
    EXPECT_EQ(pool.outcome(ticket), TicketState::done);
  }
  EXPECT_FALSE(pool.info("k"));
  EXPECT_EQ(pool.history().grants.size(), 3U);
}

TEST(Dispatch, KeysAndPayloadsOutOfBoundsAreRefused) {
  TestPool pool;
  EXPECT_EQ(pool.refusal(pool.resident("")), Errc::invalid);
  EXPECT_EQ(pool.refusal(pool.resident(Bytes(kKeyBytesMax + 1, 'k'))), Errc::invalid);
  EXPECT_EQ(pool.refusal(pool.resident("k", {.payload = Bytes(kPayloadBytesMax + 1, 'p')})), Errc::invalid);
  EXPECT_EQ(pool.refusal(pool.task("k", {.delay_ms = kDelayMsMax + 1})), Errc::invalid);
  pool.append(rec::dispatch(0, v1::TASK, "k"));
  pool.append(rec::dispatch(5, static_cast<v1::Kind>(9), "k"));
  EXPECT_EQ(pool.refusal(5), Errc::invalid);
  EXPECT_EQ(pool.machine().keys(), 0U);
  EXPECT_EQ(pool.outcome(pool.resident(Bytes(kKeyBytesMax, 'k'), {.payload = Bytes(kPayloadBytesMax, 'p')})),
            TicketState::accepted);
}

TEST(Dispatch, TheQueueBoundIsExactAndNothingIsTrimmed) {
  TestPool pool;
  v1::Configure options;
  options.set_max_queued_jobs(5);
  pool.append(rec::configure(options));
  TestPool::Records dispatches;
  for (std::uint64_t i = 1; i <= 8; ++i) dispatches.push_back(rec::dispatch(i, v1::TASK, "k" + std::to_string(i)));
  pool.append(dispatches);
  for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(pool.outcome(i), TicketState::accepted);
  for (std::uint64_t i = 6; i <= 8; ++i) EXPECT_EQ(pool.refusal(i), Errc::pool_full);
  EXPECT_EQ(pool.machine().queued(), 5U);
  pool.node("a");
  EXPECT_EQ(pool.seen().grants.size(), 5U);
  EXPECT_EQ(pool.machine().queued(), 5U) << "granted ahead of time, and begun by nobody yet";
  EXPECT_EQ(pool.refusal(pool.task("k9")), Errc::pool_full);
  EXPECT_EQ(pool.seen().settlements.back().text, "max_queued_jobs: 5 jobs wait for a handler to begin them");
  pool.started("k1");
  pool.done("k2");
  EXPECT_EQ(pool.machine().queued(), 3U);
}

// A task that was given back, or whose holder died before anybody said that it had begun, waits for a handler still.
TEST(Dispatch, OnlyABegunJobLeavesTheQueue) {
  TestPool pool;
  const std::uint64_t session = pool.node("a");
  pool.task("k");
  pool.released("k");
  EXPECT_EQ(pool.machine().queued(), 1U);
  pool.crash(session);
  EXPECT_EQ(pool.machine().queued(), 1U);
  pool.node("b");
  pool.failed("k", v1::Failed::REQUEUE);
  EXPECT_EQ(pool.machine().queued(), 0U);
}

TEST(Dispatch, DelayedJobsHaveABoundOfTheirOwn) {
  TestPool pool;
  v1::Configure options;
  options.set_max_queued_jobs(1);
  options.set_max_delayed_jobs(2);
  pool.append(rec::configure(options));
  pool.task("k", {.delay_ms = 1000});
  pool.resident("r", {.delay_ms = 1000});
  EXPECT_EQ(pool.machine().delayed(), 2U);
  EXPECT_EQ(pool.refusal(pool.task("k", {.delay_ms = 1000})), Errc::pool_full);
  EXPECT_EQ(pool.seen().settlements.back().text, "max_delayed_jobs: 2 jobs wait for their delay");
  EXPECT_EQ(pool.outcome(pool.task("k")), TicketState::accepted);
  ASSERT_TRUE(pool.machine().restore(save(pool.machine())));
  pool.pass(1000);
  EXPECT_EQ(pool.machine().delayed(), 0U);
  EXPECT_EQ(pool.machine().queued(), 3U) << "what was accepted stays";
  pool.stop("k");
  pool.stop("r");
  EXPECT_EQ(pool.machine().queued(), 0U);
}

// A dispatcher may come before the first member. Its options then are the pool's, and a later one's are not.
TEST(Dispatch, ADispatchersOptionsCountOnlyInANewPool) {
  TestPool pool;
  v1::Configure options;
  options.set_unless_configured(true);
  options.set_max_queued_jobs(1);
  pool.append({rec::configure(options), rec::dispatch(1, v1::TASK, "a"), rec::dispatch(2, v1::TASK, "b")});
  EXPECT_EQ(pool.refusal(2), Errc::pool_full);
  options.set_max_queued_jobs(9);
  pool.append(rec::configure(options));
  EXPECT_EQ(pool.machine().config().max_queued_jobs, 1U);
}

// What counts against the bound is jobs that nobody has begun yet: stopped ones make room, retried ones need none.
TEST(Dispatch, TheBoundCountsJobsThatNobodyHasBegun) {
  TestPool pool;
  v1::Configure options;
  options.set_max_queued_jobs(2);
  pool.append(rec::configure(options));
  pool.task("k");
  pool.task("k");
  EXPECT_EQ(pool.refusal(pool.task("k")), Errc::pool_full);
  pool.stop("k");
  EXPECT_EQ(pool.machine().queued(), 0U);
  pool.node("a");
  pool.task("k");
  pool.failed("k");
  EXPECT_EQ(pool.machine().queued(), 0U);
  pool.task("k");
  pool.task("k");
  EXPECT_EQ(pool.machine().queued(), 2U);
  EXPECT_EQ(pool.refusal(pool.task("l")), Errc::pool_full);
}

TEST(Dispatch, JobsWaitForTheFirstWorker) {
  TestPool pool;
  pool.resident("r");
  pool.task("t");
  EXPECT_EQ(pool.state("r"), JobState::queued);
  pool.join();
  EXPECT_TRUE(pool.seen().grants.empty());
  pool.append(rec::add_worker(1, "a"));
  EXPECT_EQ(pool.seen().granted_keys(), (std::vector<Bytes>{"r", "t"}));
}

TEST(Dispatch, ADelayRunsInLogTime) {
  TestPool pool;
  pool.node("a");
  pool.task("t", {.delay_ms = 3'000});
  pool.resident("r", {.delay_ms = 3'000});
  EXPECT_EQ(pool.state("t"), JobState::idle);
  EXPECT_EQ(pool.state("r"), JobState::waiting);
  pool.pass(2'000);
  EXPECT_TRUE(pool.seen().grants.empty());
  pool.jump(999);
  pool.append(rec::tick());
  EXPECT_TRUE(pool.seen().grants.empty());
  pool.jump(1);
  pool.append(rec::tick());
  EXPECT_EQ(pool.seen().granted_keys(), (std::vector<Bytes>{"t", "r"}));
}

// Tasks that were delayed join their key's list in the order they come due, behind what is there by then.
TEST(Dispatch, DelayedTasksJoinInTheOrderTheyComeDue) {
  TestPool pool;
  pool.node("a");
  const std::uint64_t late = pool.task("k", {.delay_ms = 2'000});
  const std::uint64_t soon = pool.task("k", {.delay_ms = 1'000});
  const std::uint64_t equal = pool.task("k", {.delay_ms = 2'000});
  const std::uint64_t now = pool.task("k");
  pool.pass(3'000);
  std::vector<std::uint64_t> order;
  while (pool.info("k")) {
    order.push_back(pool.info("k")->ticket);
    pool.done("k");
  }
  EXPECT_EQ(order, (std::vector{now, soon, late, equal}));
}

// Many of one key fall due in an order that is not the one they came in, with a restart from a snapshot in
// between; each joins once.
TEST(Dispatch, ManyDelayedTasksOfOneKeyJoinOnceEach) {
  constexpr std::uint64_t kTasks = 2'000;
  TestPool pool;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> due;  // when, and the ticket
  TestPool::Records records;
  for (std::uint64_t i = 0; i < kTasks; ++i) {
    const std::uint64_t delay_ms = 1 + i * 7'919 % kTasks;  // each once
    due.emplace_back(delay_ms, pool.new_ticket());
    records.push_back(rec::dispatch(due.back().second, v1::TASK, "k", {.delay_ms = delay_ms}));
  }
  v1::Configure options;
  options.set_max_delayed_jobs(kTasks);
  pool.append(rec::configure(options));
  pool.append(records);
  pool.pass(kTasks / 2);
  ASSERT_TRUE(pool.machine().restore(save(pool.machine())));
  pool.pass(kTasks);
  EXPECT_FALSE(pool.machine().next_due_ms());

  pool.node("a");
  std::sort(due.begin(), due.end());
  for (const auto& [delay_ms, ticket] : due) {
    ASSERT_TRUE(pool.info("k"));
    ASSERT_EQ(pool.info("k")->ticket, ticket);
    pool.done("k");
  }
  EXPECT_FALSE(pool.info("k"));
}

TEST(Dispatch, AWorkersWindowBoundsTheTasksItHolds) {
  TestPool pool;
  pool.node("a", {.window = 2});
  for (const char* key : {"k1", "k2", "k3", "k4"}) pool.task(key);
  EXPECT_EQ(pool.history().granted_keys(), (std::vector<Bytes>{"k1", "k2"}));
  pool.done("k2");
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"k3"});
  pool.failed("k1", v1::Failed::DROP);
  EXPECT_EQ(pool.seen().granted_keys(), std::vector<Bytes>{"k4"});
}

TEST(Dispatch, AChangeOfTheBoundCountsFromThenOn) {
  TestPool pool;
  pool.task("k1");
  pool.task("k2");
  v1::Configure options;
  options.set_max_queued_jobs(1);
  pool.append(rec::configure(options));
  EXPECT_EQ(pool.machine().queued(), 2U);
  EXPECT_EQ(pool.refusal(pool.task("k3")), Errc::pool_full);
  EXPECT_EQ(pool.machine().config().max_attempts, 10U) << "a field that is zero keeps its value";
}

}  // namespace
}  // namespace tenure::test

// Jobs of both kinds, from dispatch to their end, from the dispatcher's view.

#include <atomic>
#include <thread>

#include "base/shard.h"
#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolDispatch : public PoolConformance {};

// A task runs once, its result reaches the dispatcher, and its key is free again.
TEST_P(PoolDispatch, TaskIsDoneAndGone) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([](Job& job) { return "echo " + job.payload(); }));
  const Ticket ticket = pool.dispatch_task("k", "hello").value();
  EXPECT_EQ(problem(ticket.wait_accepted(kPatience)), "");
  EXPECT_EQ(problem(ticket.wait_started(kPatience)), "");
  EXPECT_EQ(ticket.wait_done(kPatience).value(), "echo hello");
  EXPECT_EQ(ticket.state(), TicketState::done);
  EXPECT_NE(ticket.epoch(), 0U);
  EXPECT_EQ(code_of(pool.key("k")), Errc::no_such_key);
}

// A long task is reported as started while it runs.
TEST_P(PoolDispatch, LongTaskIsToldStarted) {
  Gate gate;
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job&) { gate.pass(); }));
  const Ticket ticket = pool.dispatch_task("k").value();
  EXPECT_EQ(problem(ticket.wait_started(kPatience)), "");
  EXPECT_EQ(ticket.state(), TicketState::started);
  EXPECT_EQ(code_of(ticket.wait_done(0s)), Errc::timed_out);
  gate.open();
  EXPECT_EQ(problem(ticket.wait_done(kPatience)), "");
}

// A resident is started, gets messages in order, and is stopped; each by tickets of their own.
TEST_P(PoolDispatch, ResidentLivesUntilStopped) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_)));
  const Ticket job = pool.dispatch("k", "payload").value();
  EXPECT_EQ(problem(job.wait_started(kPatience)), "");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(problem(pool.notify("k", std::to_string(i)).value().wait_accepted(kPatience)), "");
  }
  ASSERT_TRUE(notes_.wait_for("notify k 4"));
  EXPECT_EQ(problem(pool.stop("k").value().wait_done(kPatience)), "");
  EXPECT_EQ(problem(job.wait_done(kPatience)), "");
  EXPECT_EQ(job.state(), TicketState::stopped);
  EXPECT_EQ(notes_.pages(), (Notebook::Pages{"start k", "notify k 0", "notify k 1", "notify k 2", "notify k 3",
                                             "notify k 4", "stop k"}));
}

// Of several dispatchers that race for a key exactly one wins; the others get key_exists.
TEST_P(PoolDispatch, OneOfManyDispatchersWins) {
  Pool pool = open();
  Pool other = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_)));
  std::atomic<int> won{0};
  std::atomic<int> exists{0};
  constexpr int kDispatchers = 8;
  std::vector<std::thread> dispatchers;
  dispatchers.reserve(kDispatchers);
  for (int i = 0; i < kDispatchers; ++i) {
    dispatchers.emplace_back([&, i] {
      const Status accepted = (i % 2 == 0 ? pool : other).dispatch("k").value().wait_accepted(kPatience);
      if (accepted) ++won;
      if (code_of(accepted) == Errc::key_exists) ++exists;
    });
  }
  for (std::thread& dispatcher : dispatchers) dispatcher.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(exists, 7);
}

// Each step calls back once, also when it lies in the past already.
TEST_P(PoolDispatch, CallbacksForEveryStep) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([](Job& job) { return job.payload(); }));
  const Ticket ticket = pool.dispatch_task("k", "x").value();
  ticket.on_accepted([&](const Status& status) { notes_.write("accepted " + problem(status)); });
  ticket.on_started([&](const Status& status) { notes_.write("started " + problem(status)); });
  ticket.on_done([&](const Result<std::string>& result) { notes_.write("done " + result.value()); });
  ASSERT_TRUE(notes_.wait_lines(3));
  ticket.on_done([&](const Result<std::string>& result) { notes_.write("again " + result.value()); });
  ASSERT_TRUE(notes_.wait_lines(4));
  EXPECT_EQ(notes_.pages(), (Notebook::Pages{"accepted ", "started ", "done x", "again x"}));
}

// A callback may dispatch, and its ticket may call back in turn.
TEST_P(PoolDispatch, CallbackMayCallThePool) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([](Job& job) { return job.payload(); }));
  pool.dispatch_task("a", "1").value().on_done([&](const Result<std::string>&) {
    pool.dispatch_task("b", "2").value().on_done([&](const Result<std::string>& two) { notes_.write(two.value()); });
  });
  EXPECT_TRUE(notes_.wait_for("2"));
}

// A handler dispatches to its own pool and waits for it.
TEST_P(PoolDispatch, HandlerMayDispatchAndWait) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job& job) -> std::string {
    if (job.key() == "inner") return "from inside";
    return pool.dispatch_task("inner").value().wait_done(kPatience).value();
  }));
  EXPECT_EQ(pool.dispatch_task("outer").value().wait_done(kPatience).value(), "from inside");
}

// Messages and stops for keys that have no job are refused by name.
TEST_P(PoolDispatch, NoSuchKey) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_)));
  EXPECT_EQ(code_of(pool.notify("nobody", "x").value().wait_accepted(kPatience)), Errc::no_such_key);
  EXPECT_EQ(code_of(pool.stop("nobody").value().wait_done(kPatience)), Errc::no_such_key);
}

// A key that begins so and is in the same shard as the other one, where there are shards.
std::string beside(const std::string& other, std::string key) {
  while (shard_of(key, 4) != shard_of(other, 4)) key += '.';
  return key;
}

// The queue bound is exact under concurrent dispatch, and nothing that was accepted is lost.
TEST_P(PoolDispatch, QueueBoundIsExact) {
  PoolOptions options = quick();
  options.max_queued_jobs = 10;
  options.concurrency = 1;  // with the gate closed nothing else begins, however much is assigned ahead of time
  Gate gate;
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker([&](Job&) { gate.pass(); }));
  ASSERT_TRUE(pool.dispatch_task("running").value().wait_started(kPatience));
  std::atomic<int> accepted{0};
  std::atomic<int> full{0};
  std::vector<std::thread> dispatchers;
  std::vector<std::vector<Ticket>> tickets(8);
  dispatchers.reserve(tickets.size());
  for (std::size_t thread = 0; thread < tickets.size(); ++thread) {
    dispatchers.emplace_back([&, thread] {
      for (int i = 0; i < 5; ++i) {
        const std::string key = beside("running", std::to_string(thread) + "-" + std::to_string(i));
        tickets[thread].push_back(pool.dispatch_task(key).value());
        const Status status = tickets[thread].back().wait_accepted(kPatience);
        if (status) ++accepted;
        if (code_of(status) == Errc::pool_full) ++full;
      }
    });
  }
  for (std::thread& dispatcher : dispatchers) dispatcher.join();
  EXPECT_EQ(accepted, 10);
  EXPECT_EQ(full, 30);
  gate.open();
  int done = 0;
  for (const auto& some : tickets) {
    for (const Ticket& ticket : some) done += ticket.wait_done(kPatience) ? 1 : 0;
  }
  EXPECT_EQ(done, 10);
}

// A delayed task waits, and does not hold up the others of its key.
TEST_P(PoolDispatch, DelayedTaskComesLater) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job& job) { notes_.write(job.payload()); }));
  const Ticket late = pool.dispatch_task("k", "late", {.delay = 500ms}).value();
  const Ticket soon = pool.dispatch_task("k", "soon").value();
  EXPECT_TRUE(soon.wait_done(kPatience));
  EXPECT_TRUE(late.wait_done(kPatience));
  EXPECT_EQ(notes_.pages(), (Notebook::Pages{"soon", "late"}));
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolDispatch, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance

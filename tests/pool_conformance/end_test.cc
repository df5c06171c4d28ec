// How a process leaves a pool, how a pool ends, and what happens to jobs in flight.

#include <atomic>
#include <thread>

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolEnd : public PoolConformance {};

// Closing hands over to the others: nothing is lost, and the next holder gets what the last one left.
TEST_P(PoolEnd, CloseHandsOver) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_, "a ")));
  ASSERT_TRUE(pool.dispatch("k").value().wait_started(kPatience));
  Pool other = open();
  ASSERT_TRUE(other.add_worker(std::make_shared<Resident>(notes_, "b "), {.weight = 0}));
  EXPECT_EQ(problem(pool.close(kPatience)), "");
  EXPECT_TRUE(notes_.wait_for("b start k from a blob of k"));
}

// After closing everything says so, open tickets too, and a second close is nothing.
TEST_P(PoolEnd, ClosedSaysSo) {
  Pool pool = open();
  Worker worker = pool.add_worker(std::make_shared<Resident>(notes_)).value();
  const Ticket ticket = pool.dispatch("k").value();
  ASSERT_TRUE(ticket.wait_started(kPatience));
  ticket.on_done(
      [&](const Result<std::string>& done) { notes_.write("done " + std::string(to_string(code_of(done)))); });
  EXPECT_EQ(problem(pool.close(kPatience)), "");
  EXPECT_EQ(code_of(ticket.wait_done(kPatience)), Errc::closed);
  EXPECT_TRUE(notes_.wait_for("done closed"));
  EXPECT_EQ(code_of(pool.dispatch("k2")), Errc::closed);
  EXPECT_EQ(code_of(pool.notify("k", "x")), Errc::closed);
  EXPECT_EQ(code_of(pool.workers()), Errc::closed);
  EXPECT_EQ(code_of(pool.add_worker([](Job&) {})), Errc::closed);
  EXPECT_EQ(code_of(worker.remove(kPatience)), Errc::closed);
  EXPECT_EQ(code_of(pool.shutdown(kPatience)), Errc::closed);
  EXPECT_EQ(problem(pool.close(kPatience)), "");
}

// A job outlives the process that dispatched it, also when that leaves at once and waited for nothing.
TEST_P(PoolEnd, DispatchSurvivesItsDispatcher) {
  Pool keeper = open();
  open().dispatch("k").value();
  open(client()).dispatch_task("t").value();
  ASSERT_TRUE(keeper.add_worker(std::make_shared<Resident>(notes_)));
  EXPECT_TRUE(notes_.wait_for("start k"));
}

// A pool that is destroyed in the middle of its work stops its residents, lets running tasks finish, and gives back
// the rest.
TEST_P(PoolEnd, DestroyedInTheMiddleOfWork) {
  class Both final : public Resident {
   public:
    Both(Notebook& notes, std::atomic<int>& ran) : Resident(notes), ran_(ran) {}
    Outcome run_task(Job&) override {
      ++ran_;
      return {};
    }

   private:
    std::atomic<int>& ran_;
  };
  Pool witness = open();
  std::atomic<int> ran{0};
  std::vector<Ticket> tickets;
  {
    Pool pool = open();
    ASSERT_TRUE(pool.add_worker(std::make_shared<Both>(notes_, ran)));
    ASSERT_TRUE(pool.dispatch("resident").value().wait_started(kPatience));
    for (int i = 0; i < 500; ++i) tickets.push_back(witness.dispatch_task("t" + std::to_string(i % 50)).value());
    ASSERT_TRUE(tickets[0].wait_done(kPatience));
  }
  EXPECT_TRUE(notes_.wait_for("stop resident"));
  ASSERT_TRUE(witness.add_worker(std::make_shared<Both>(notes_, ran)));
  for (const Ticket& ticket : tickets) EXPECT_EQ(problem(ticket.wait_done(kPatience)), "");
  EXPECT_EQ(ran, 500);
}

// Handlers see that they are to stop, and why.
TEST_P(PoolEnd, RunningFunctionIsToldToStop) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(run_handler([&](Job& job) -> std::string {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, job.stop_token(), [] { return false; });
    notes_.write("reason " + std::string(to_string(job.stop_reason().value())));
    return "left";
  })));
  const Ticket ticket = pool.dispatch("k").value();
  ASSERT_TRUE(ticket.wait_started(kPatience));
  EXPECT_EQ(problem(pool.stop("k").value().wait_done(kPatience)), "");
  EXPECT_TRUE(notes_.wait_for("reason stop"));
}

// Shutdown: what was accepted before is still done, residents stop, every member leaves, and what comes after starts
// from nothing.
TEST_P(PoolEnd, ShutdownEndsThePool) {
  Gate gate;
  std::atomic<int> done{0};
  class Both final : public Resident {
   public:
    Both(Notebook& notes, Gate& gate, std::atomic<int>& done) : Resident(notes), gate_(gate), done_(done) {}
    Outcome run_task(Job&) override {
      gate_.pass();
      ++done_;
      return {};
    }

   private:
    Gate& gate_;
    std::atomic<int>& done_;
  };
  {
    Pool pool = open();
    Pool other = open();
    ASSERT_TRUE(pool.add_worker(std::make_shared<Both>(notes_, gate, done)));
    ASSERT_TRUE(other.add_worker(std::make_shared<Both>(notes_, gate, done)));
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(pool.dispatch("r" + std::to_string(i)).value().wait_started(kPatience));
    constexpr int kTasks = 20;
    std::vector<Ticket> tasks;
    tasks.reserve(kTasks);
    for (int i = 0; i < kTasks; ++i) tasks.push_back(pool.dispatch_task("t" + std::to_string(i % 4)).value());
    for (const Ticket& task : tasks) ASSERT_TRUE(task.wait_accepted(kPatience));
    std::thread ender([&] { EXPECT_EQ(problem(pool.shutdown(kPatience)), ""); });
    // The order to shut down has been read once the last resident was stopped.
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(notes_.wait_for("stop r" + std::to_string(i)));
    EXPECT_EQ(code_of(other.dispatch_task("late").value().wait_accepted(kPatience)), Errc::shutting_down);
    gate.open();
    ender.join();
    EXPECT_EQ(done, 20);
  }
  Pool anew = open();
  ASSERT_TRUE(anew.add_worker([](Job&) { return "anew"; }));
  EXPECT_EQ(anew.dispatch_task("r0").value().wait_done(kPatience).value(), "anew");
}

// A client may end the pool too; and one that nobody works in ends at once.
TEST_P(PoolEnd, ClientShutsDown) {
  {
    Pool pool = open();
    ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_)));
    ASSERT_TRUE(pool.dispatch("k").value().wait_started(kPatience));
    Pool caller = open(client());
    EXPECT_EQ(problem(caller.shutdown(kPatience)), "");
    EXPECT_TRUE(notes_.wait_for("stop k"));
    EXPECT_FALSE(caller.dispatch("k"));
  }
  EXPECT_EQ(problem(open().shutdown(kPatience)), "");
}

// Not even by a process that only reads, knows that the pool will end, and finds its log gone.
TEST_P(PoolEnd, NothingIsLeftBehind) {
  Gate gate;
  Pool looks_on = open();
  Pool asks = open(client());
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job&) { gate.pass(); }));
  ASSERT_TRUE(looks_on.dispatch_task("k").value().wait_started(kPatience));
  std::thread ender([&] { EXPECT_EQ(problem(asks.shutdown(kPatience)), ""); });
  // In every shard.
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (int i = 0; i < 32; ++i) {
    const auto ending = [&] {
      const Result<Ticket> ticket = looks_on.dispatch_task("k" + std::to_string(i));
      return !ticket || code_of(ticket->wait_accepted(kPatience)) == Errc::shutting_down;
    };
    while (!ending() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
  }
  gate.open();
  ender.join();
  // Long enough for a reader to notice that its log is gone.
  std::this_thread::sleep_for(1200ms);
  EXPECT_EQ(code_of(open_log(url(), {.pool = "default", .read_only = true, .shard = {0, 0}})), Errc::refused);
}

// Residents that wait for a worker are not started first: there may never be one. What is left of the pool is nothing.
TEST_P(PoolEnd, ResidentsWithoutAWorkerDoNotHoldItUp) {
  Pool pool = open();
  std::vector<Ticket> waiting;
  for (int i = 0; i < 8; ++i) waiting.push_back(pool.dispatch("r" + std::to_string(i)).value());
  for (const Ticket& ticket : waiting) ASSERT_TRUE(ticket.wait_accepted(kPatience));
  EXPECT_EQ(problem(pool.shutdown(kPatience)), "");
  EXPECT_EQ(leftovers(), std::vector<std::string>{});
  Pool anew = open();
  ASSERT_TRUE(anew.add_worker(std::make_shared<Resident>(notes_)));
  ASSERT_TRUE(anew.dispatch_task("t").value().wait_accepted(kPatience));
  EXPECT_TRUE(notes_.pages().empty());
}

// Workers that were told to take no more keys do the tasks that are left, if nobody else does.
TEST_P(PoolEnd, DrainedWorkersFinishIt) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job& job) { notes_.write("did " + job.key()); }, {.id = "a"}));
  ASSERT_TRUE(pool.drain("a"));
  std::vector<Ticket> tasks;
  for (int i = 0; i < 8; ++i) tasks.push_back(pool.dispatch_task("t" + std::to_string(i)).value());
  for (const Ticket& task : tasks) ASSERT_TRUE(task.wait_accepted(kPatience));
  EXPECT_TRUE(notes_.pages().empty());
  EXPECT_EQ(problem(pool.shutdown(kPatience)), "");
  EXPECT_EQ(notes_.pages().size(), 8U);
  EXPECT_EQ(leftovers(), std::vector<std::string>{});
}

// A pool that is ended and made anew, again and again and as quickly as that goes, never gives an epoch twice.
TEST_P(PoolEnd, EpochsGrowFromPoolToPool) {
  std::map<std::string, std::uint64_t> last;
  for (int round = 0; round < 5; ++round) {
    Pool pool = open();
    ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_)));
    for (const char* key : {"k", "l", "m"}) {
      ASSERT_TRUE(pool.dispatch(key).value().wait_started(kPatience));
      const std::uint64_t epoch = pool.holder(key).value().epoch;
      EXPECT_GT(epoch, last[key]);
      last[key] = epoch;
    }
    EXPECT_EQ(problem(pool.shutdown(kPatience)), "");
  }
}

// A handler cannot close its own pool: it would wait for itself.
TEST_P(PoolEnd, HandlerCannotCloseItsPool) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job&) { return std::string(to_string(code_of(pool.close()))); }));
  EXPECT_EQ(pool.dispatch_task("k").value().wait_done(kPatience).value(), "invalid");
}

// Handles of tickets, jobs and workers may outlive the pool.
TEST_P(PoolEnd, HandlesOutliveThePool) {
  std::optional<Job> job;
  std::optional<Ticket> ticket;
  std::optional<Worker> worker;
  {
    Pool pool = open();
    worker = pool.add_worker([&](Job& given) { job = given; }).value();
    ticket = pool.dispatch_task("k", "payload").value();
    ASSERT_TRUE(ticket->wait_done(kPatience));
  }
  EXPECT_EQ(job->payload(), "payload");
  EXPECT_EQ(code_of(job->checkpoint("late")), Errc::closed);
  job->finish();
  EXPECT_EQ(code_of(worker->remove()), Errc::closed);
  ticket->on_done([&](const Result<std::string>&) { notes_.write("called"); });
  EXPECT_EQ(notes_.pages(), Notebook::Pages{"called"});
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolEnd, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance

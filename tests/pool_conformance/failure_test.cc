// Handlers that throw, ask for a retry, or give up.

#include <atomic>

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolFailure : public PoolConformance {};

// Starts as its payload says.
class Moody final : public Handler {
 public:
  Outcome start(Job& job) override {
    if (job.payload() == "throw") throw std::runtime_error("no connection");
    if (job.payload() == "throw int") throw 7;
    if (job.payload() == "requeue" && tries_++ == 0) return Requeue{1ms, "not yet"};
    if (job.payload() == "throw requeue" && tries_++ == 0) throw Requeue{1ms, "not yet"};
    return {};
  }

 private:
  std::atomic<int> tries_{0};
};

// A start that throws: the dispatcher gets the error, and the key is free again.
TEST_P(PoolFailure, StartThatThrowsFreesTheKey) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Moody>()));
  const Status started = pool.dispatch("k", "throw").value().wait_started(kPatience);
  ASSERT_EQ(code_of(started), Errc::job_failed);
  EXPECT_EQ(started.error().context, "no connection");
  EXPECT_EQ(code_of(pool.dispatch("k", "throw int").value().wait_started(kPatience)), Errc::job_failed);
  EXPECT_EQ(problem(pool.dispatch("k", "fine").value().wait_started(kPatience)), "");
}

// Requeue, returned or thrown, is another try of the same job.
TEST_P(PoolFailure, StartMayAskForAnotherTry) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Moody>()));
  EXPECT_EQ(problem(pool.dispatch("a", "requeue").value().wait_started(kPatience)), "");
  Pool another = open();
  EXPECT_EQ(problem(another.dispatch("b", "throw requeue").value().wait_started(kPatience)), "");
}

// A task that fails is tried again, with its attempts counted, until it succeeds.
TEST_P(PoolFailure, TaskIsTriedAgain) {
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job& job) -> std::string {
    notes_.write("attempt " + std::to_string(job.attempt()));
    if (job.attempt() < 3) throw std::runtime_error("flaky");
    return "at last";
  }));
  EXPECT_EQ(pool.dispatch_task("k").value().wait_done(kPatience).value(), "at last");
  EXPECT_EQ(notes_.pages(), (Notebook::Pages{"attempt 1", "attempt 2", "attempt 3"}));
}

// Out of attempts a task is a dead letter, with its error and payload; it can be retried and dropped.
TEST_P(PoolFailure, DeadLetters) {
  std::atomic<bool> broken{true};
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job&) {
    if (broken) throw std::runtime_error("broken");
  }));
  const Result<std::string> done = pool.dispatch_task("k", "payload").value().wait_done(kPatience);
  ASSERT_EQ(code_of(done), Errc::job_failed);
  EXPECT_EQ(done.error().context, "broken");
  std::vector<DeadJob> dead = pool.dead_jobs().value();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].key, "k");
  EXPECT_EQ(dead[0].payload, "payload");
  EXPECT_EQ(dead[0].error, "broken");
  EXPECT_EQ(pool.dead_jobs(dead[0].id).value().size(), 0U);

  broken = false;
  EXPECT_EQ(problem(pool.retry_dead(dead[0].id).value().wait_accepted(kPatience)), "");
  EXPECT_EQ(code_of(pool.retry_dead(dead[0].id).value().wait_accepted(kPatience)), Errc::no_such_key);
  EXPECT_TRUE(pool.dispatch_task("k").value().wait_done(kPatience));  // behind the one that was retried
  EXPECT_EQ(pool.dead_jobs().value().size(), 0U);

  broken = true;
  EXPECT_FALSE(pool.dispatch_task("k", "", {.max_attempts = 1}).value().wait_done(kPatience));
  dead = pool.dead_jobs().value();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(problem(pool.drop_dead(dead[0].id).value().wait_accepted(kPatience)), "");
  EXPECT_EQ(pool.dead_jobs().value().size(), 0U);
}

// NoRetry buries a task at its first attempt.
TEST_P(PoolFailure, NoRetry) {
  std::atomic<int> attempts{0};
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job&) -> Outcome {
    ++attempts;
    return NoRetry{"bad address"};
  }));
  const Result<std::string> done = pool.dispatch_task("k").value().wait_done(kPatience);
  ASSERT_EQ(code_of(done), Errc::job_failed);
  EXPECT_EQ(done.error().context, "bad address");
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(pool.dead_jobs().value().size(), 1U);
}

// Requeue of a task does not count as an attempt.
TEST_P(PoolFailure, TaskMayBeRequeued) {
  std::atomic<int> calls{0};
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job& job) -> Outcome {
    if (++calls <= 5) return Requeue{};
    return std::to_string(job.attempt());
  }));
  EXPECT_EQ(pool.dispatch_task("k").value().wait_done(kPatience).value(), "1");
}

// A worker that takes jobs which its handler has no code for says so to the dispatcher.
TEST_P(PoolFailure, WorkerOfTheWrongKind) {
  Pool pool = open();
  WorkerOptions options;
  options.takes = {{.kind = JobKind::resident}};
  ASSERT_TRUE(pool.add_worker([](Job&) {}, options));
  const Status started = pool.dispatch("k").value().wait_started(kPatience);
  ASSERT_EQ(code_of(started), Errc::job_failed);
  EXPECT_NE(started.error().context.find("tasks only"), std::string::npos);
}

// A resident may end by itself, in good order or not; and one that is a function ends when it returns.
TEST_P(PoolFailure, ResidentEndsByItself) {
  Gate gate;
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(run_handler([&](Job& job) -> std::string {
    gate.pass();
    if (job.payload() == "fail" && job.attempt() == 1) throw std::runtime_error("lost");
    return "finished";
  })));
  const Ticket good = pool.dispatch("good").value();
  const Ticket bad = pool.dispatch("bad", "fail").value();
  EXPECT_TRUE(good.wait_started(kPatience));
  EXPECT_TRUE(bad.wait_started(kPatience));
  gate.open();
  EXPECT_EQ(good.wait_done(kPatience).value(), "finished");
  EXPECT_EQ(bad.wait_done(kPatience).value(), "finished");  // at the second attempt
  EXPECT_EQ(code_of(pool.key("good")), Errc::no_such_key);
}

// A start that takes longer than pending_job_ttl is stopped, and tried again.
TEST_P(PoolFailure, SlowStartIsGivenToAnotherTry) {
  class Slow final : public Handler {
   public:
    Outcome start(Job& job) override {
      if (tries_++ > 0) return {};
      std::mutex mutex;
      std::condition_variable_any stopped;
      std::unique_lock lock(mutex);
      stopped.wait_for(lock, job.stop_token(), kPatience, [] { return false; });
      throw std::runtime_error("too slow");
    }

   private:
    std::atomic<int> tries_{0};
  };
  PoolOptions options = quick();
  options.pending_job_ttl = 50ms;
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker(std::make_shared<Slow>()));
  EXPECT_EQ(problem(pool.dispatch("k").value().wait_started(kPatience)), "");
}

// What the logger is given is one line that nobody can forge, whatever keys and exceptions have in them.
TEST_P(PoolFailure, LogLinesArePrintable) {
  class Thrower final : public Handler {
   public:
    Outcome start(Job&) override { return {}; }
    void notify(Job&, std::string_view) override { throw std::runtime_error("\x1b[2J\nforged"); }
  };
  PoolOptions options = quick();
  options.logger = [this](LogLevel, std::string_view line) { notes_.write(std::string(line)); };
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker(std::make_shared<Thrower>()));
  EXPECT_EQ(problem(pool.dispatch("k\r").value().wait_started(kPatience)), "");
  EXPECT_EQ(code_of(pool.notify("k\r", "m").value().wait_done(kPatience)), Errc::job_failed);
  EXPECT_TRUE(notes_.wait_for("notify of 'k\\r' failed: \\x1b[2J\\nforged"));
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolFailure, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance

// Handlers that do not stop, or not in time, starts that take too long, and messages that nobody takes.

#include <atomic>
#include <condition_variable>
#include <stdexcept>

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolStops : public PoolConformance {
 protected:
  static PoolOptions short_grace() {
    PoolOptions options = quick();
    options.worker_shutdown_ttl = 200ms;
    return options;
  }
};

bool names(const Status& status, const std::string& text) {
  return !status && status.error().message().find(text) != std::string::npos;
}

// Waits until the job must stop.
void wait_for_stop(const Job& job) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, job.stop_token(), kPatience, [] { return false; });
}

// Part of a job whose stop() threw may still run: its worker keeps the key, and cannot be removed, until the job says
// that it has ended.
TEST_P(PoolStops, AStopThatThrowsHasNotStopped) {
  class Thrower final : public Handler {
   public:
    explicit Thrower(Notebook& notes) : notes_(notes) {}
    Outcome start(Job& job) override {
      job_ = job;
      return {};
    }
    std::optional<std::string> stop(Job& job) override {
      notes_.write("stop " + job.key());
      throw std::runtime_error("still busy");
    }
    // Nobody else would let go of the Job: it did not stop.
    void end() {
      job_->finish();
      job_.reset();
    }

   private:
    Notebook& notes_;
    std::optional<Job> job_;
  };
  Pool pool = open(short_grace());
  const auto thrower = std::make_shared<Thrower>(notes_);
  const Worker worker = pool.add_worker(thrower, {.id = "a"}).value();
  ASSERT_EQ(problem(pool.dispatch("k").value().wait_started(kPatience)), "");
  Pool other = open(short_grace());
  ASSERT_TRUE(other.add_worker(std::make_shared<Resident>(notes_, "b "), {.id = "b"}));
  const Status removed = pool.remove_worker(worker, kPatience);
  EXPECT_EQ(code_of(removed), Errc::timed_out);
  EXPECT_TRUE(names(removed, "'k'")) << problem(removed);
  EXPECT_TRUE(notes_.wait_for("stop k"));
  EXPECT_EQ(other.holder("k").value().worker, "a");
  thrower->end();
  EXPECT_TRUE(notes_.wait_for("b start k"));
  EXPECT_EQ(problem(pool.remove_worker(worker, kPatience)), "");
}

// Who stops a job that is still starting does not wait for the start.
TEST_P(PoolStops, TheStopTokenTripsDuringAStart) {
  class Slow final : public Handler {
   public:
    explicit Slow(Notebook& notes) : notes_(notes) {}
    Outcome start(Job& job) override {
      notes_.write("starting");
      wait_for_stop(job);
      notes_.write(job.stop_reason() == StopReason::stop ? "told to stop" : "told something else");
      return {};
    }

   private:
    Notebook& notes_;
  };
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Slow>(notes_)));
  const Ticket job = pool.dispatch("k").value();
  ASSERT_TRUE(notes_.wait_for("starting"));
  EXPECT_EQ(problem(pool.stop("k").value().wait_done(kPatience)), "");
  EXPECT_EQ(notes_.pages().back(), "told to stop");
  EXPECT_EQ(code_of(pool.key("k")), Errc::no_such_key);
}

// A start that times out is an attempt, and there are only so many.
TEST_P(PoolStops, StartsThatTimeOutAreBuriedInTheEnd) {
  class Stuck final : public Handler {
   public:
    Outcome start(Job& job) override {
      ++starts;
      wait_for_stop(job);
      return {};
    }
    std::atomic<int> starts{0};
  };
  PoolOptions options = quick();
  options.pending_job_ttl = 50ms;
  options.max_attempts = 2;
  Pool pool = open(options);
  const auto stuck = std::make_shared<Stuck>();
  ASSERT_TRUE(pool.add_worker(stuck));
  const Status started = pool.dispatch("k").value().wait_started(kPatience);
  EXPECT_EQ(code_of(started), Errc::job_failed);
  EXPECT_TRUE(names(started, "start timed out after 50 ms")) << problem(started);
  EXPECT_EQ(stuck->starts, 2);
  EXPECT_EQ(pool.dead_jobs().value().size(), 1U);
}

// close() waits no longer than the stop grace period, and names what still runs. The worker keeps its keys until then.
TEST_P(PoolStops, CloseNamesWhatOverrunsTheGracePeriod) {
  Gate gate;
  Pool pool = open(short_grace());
  ASSERT_TRUE(pool.add_worker([&](Job&) { gate.pass(); }));
  const Ticket task = pool.dispatch_task("slow").value();
  ASSERT_TRUE(task.wait_started(kPatience));
  const auto before = std::chrono::steady_clock::now();
  const Status closed = pool.close(kPatience);
  EXPECT_LT(std::chrono::steady_clock::now() - before, kPatience / 2);
  EXPECT_EQ(code_of(closed), Errc::timed_out);
  EXPECT_TRUE(names(closed, "'slow'")) << problem(closed);
  gate.open();
  EXPECT_EQ(problem(pool.close(kPatience)), "");
}

TEST_P(PoolStops, RemoveNamesWhatOverrunsTheGracePeriod) {
  Gate gate;
  Pool pool = open(short_grace());
  const Worker worker = pool.add_worker([&](Job&) { gate.pass(); }).value();
  const Ticket task = pool.dispatch_task("slow").value();
  ASSERT_TRUE(task.wait_started(kPatience));
  const Status removed = pool.remove_worker(worker, kPatience);
  EXPECT_EQ(code_of(removed), Errc::timed_out);
  EXPECT_TRUE(names(removed, "'slow'")) << problem(removed);
  gate.open();
  EXPECT_EQ(problem(pool.remove_worker(worker, kPatience)), "");
}

// The sender of a message hears that it was handled, that the handler failed, or that it takes none.
TEST_P(PoolStops, TheSenderOfAMessageHearsWhatBecameOfIt) {
  class Deaf final : public Handler {
    Outcome start(Job&) override { return {}; }
  };
  class Picky final : public Handler {
    Outcome start(Job&) override { return {}; }
    void notify(Job&, std::string_view message) override {
      if (message == "bad") throw std::runtime_error("cannot read it");
    }
  };
  Pool pool = open();
  const Worker deaf = pool.add_worker(std::make_shared<Deaf>(), {.id = "deaf", .serves = {"deaf"}}).value();
  ASSERT_TRUE(pool.add_worker(std::make_shared<Picky>(), {.id = "picky", .serves = {"picky"}}));
  ASSERT_EQ(problem(pool.dispatch("deaf").value().wait_started(kPatience)), "");
  ASSERT_EQ(problem(pool.dispatch("picky").value().wait_started(kPatience)), "");
  for (const bool by_client : {false, true}) {
    Pool from = open(by_client ? client() : quick());
    const Ticket message = from.notify("deaf", "hello").value();
    EXPECT_EQ(problem(message.wait_accepted(kPatience)), "");
    const Result<std::string> refused = message.wait_done(kPatience);
    EXPECT_EQ(code_of(refused), Errc::job_failed);
    EXPECT_NE(problem(refused).find("takes no messages"), std::string::npos) << problem(refused);
    EXPECT_EQ(problem(from.notify("picky", "good").value().wait_done(kPatience)), "");
    EXPECT_NE(problem(from.notify("picky", "bad").value().wait_done(kPatience)).find("cannot read it"),
              std::string::npos);
  }
}

// A message that no handler has seen when its job ends was not handled.
TEST_P(PoolStops, AMessageThatNobodyGotFailsWithItsJob) {
  Pool pool = open();
  ASSERT_EQ(problem(pool.dispatch("k").value().wait_accepted(kPatience)), "");
  const Ticket message = pool.notify("k", "hello").value();
  ASSERT_EQ(problem(message.wait_accepted(kPatience)), "");
  EXPECT_EQ(problem(pool.stop("k").value().wait_done(kPatience)), "");
  EXPECT_EQ(code_of(message.wait_done(kPatience)), Errc::job_failed);
}

// What a callback throws is written to the log, and the next callback runs.
TEST_P(PoolStops, ACallbackThatThrowsIsLogged) {
  PoolOptions options = quick();
  options.logger = [this](LogLevel, std::string_view line) { notes_.write(std::string(line)); };
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker([](Job&) {}));
  const Ticket ticket = pool.dispatch_task("k").value();
  ticket.on_done([](const Result<std::string>&) { throw std::runtime_error("oops"); });
  ticket.on_done([this](const Result<std::string>&) { notes_.write("second"); });
  EXPECT_TRUE(notes_.wait_for("second"));
  EXPECT_TRUE(notes_.wait_for("a callback threw: oops"));
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolStops, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance

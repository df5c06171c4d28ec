// Workers that take only some jobs: by kind, by type, or what their handler takes.

#include <atomic>
#include <thread>

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolTakes : public PoolConformance {
 protected:
  // Waits until the key's job says why it waits.
  static bool waits_because(const Pool& pool, const std::string& key, const std::string& why) {
    const Result<KeyInfo> info = pool.key(key);
    if (info && info->state == JobState::queued && info->why == why) return true;
    ADD_FAILURE() << key << ": " << problem(info) << (info ? info->why : "");
    return false;
  }
  static std::map<std::string, std::string> holders(const Pool& pool) {
    std::map<std::string, std::string> holders;
    for (const KeyInfo& key : pool.keys({.limit = 10'000}).value().keys) holders[key.key] = key.worker;
    return holders;
  }
};

// A handler for each type: each gets its own jobs, and one that nobody takes waits until somebody does.
TEST_P(PoolTakes, AHandlerForEachType) {
  Pool pool = open();
  const auto answer = [](std::string with) {
    return [with = std::move(with)](Job& job) { return with + " " + job.type() + " " + job.payload(); };
  };
  ASSERT_TRUE(pool.add_worker(Handlers{{"email", answer("mailed")}, {"sms", task_handler(answer("texted"))}}));
  EXPECT_EQ(pool.dispatch_task("k", "a", {.type = "email"}).value().wait_done(kPatience).value(), "mailed email a");
  EXPECT_EQ(pool.dispatch_task("k", "b", {.type = "sms"}).value().wait_done(kPatience).value(), "texted sms b");

  const Ticket fax = pool.dispatch_task("f", "c", {.type = "fax"}).value();
  const Ticket plain = pool.dispatch_task("p", "d").value();
  ASSERT_EQ(problem(fax.wait_accepted(kPatience)), "");
  ASSERT_EQ(problem(plain.wait_accepted(kPatience)), "");
  EXPECT_TRUE(waits_because(pool, "f", "no worker takes tasks of type 'fax'"));
  EXPECT_TRUE(waits_because(pool, "p", "no worker takes tasks without a type"));
  EXPECT_EQ(pool.key("f").value().type, "fax");
  Pool other = open();
  ASSERT_TRUE(other.add_worker(Handlers{{"fax", answer("faxed")}, {"", answer("done")}}));
  EXPECT_EQ(fax.wait_done(kPatience).value(), "faxed fax c");
  EXPECT_EQ(plain.wait_done(kPatience).value(), "done  d");
}

// A worker made from a lambda joins a pool of residents: it gets tasks, and the residents stay where they are.
TEST_P(PoolTakes, ALambdaTakesNoResidents) {
  Pool pool = open();
  WorkerOptions keeper;
  keeper.id = "keeper";
  keeper.takes = {{.kind = JobKind::resident}};
  ASSERT_TRUE(pool.add_worker(std::make_shared<Resident>(notes_), keeper));
  std::vector<Ticket> tickets;
  for (int i = 0; i < 50; ++i) tickets.push_back(pool.dispatch("key-" + std::to_string(i)).value());
  for (const Ticket& ticket : tickets) ASSERT_EQ(problem(ticket.wait_started(kPatience)), "");

  Pool other = open();
  const Worker lambda = other.add_worker([](Job& job) { return job.worker(); }, {.id = "lambda"}).value();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(pool.dispatch_task("task-" + std::to_string(i)).value().wait_done(kPatience).value(), "lambda");
  }
  const auto held = holders(pool);
  EXPECT_EQ(held.size(), 50U);
  for (const auto& [key, worker] : held) EXPECT_EQ(worker, "keeper") << key;
  EXPECT_EQ(notes_.pages().size(), 50U) << "one of them was stopped";
  const std::vector<WorkerInfo> workers = other.workers().value();
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers.at(0).takes, std::vector<std::string>{"resident"});
  EXPECT_EQ(workers.at(1).takes, std::vector<std::string>{"task"});
}

// A resident that nobody takes waits, and says why; the worker that comes for it gets it.
TEST_P(PoolTakes, AResidentWaitsForOneThatTakesIt) {
  Pool pool = open();
  const Ticket ticket = pool.dispatch("r", "", {.type = "poller"}).value();
  ASSERT_EQ(problem(ticket.wait_accepted(kPatience)), "");
  EXPECT_TRUE(waits_because(pool, "r", "there is no worker"));
  ASSERT_TRUE(pool.add_worker([](Job&) {}));
  EXPECT_TRUE(waits_because(pool, "r", "no worker takes residents of type 'poller'"));
  ASSERT_TRUE(pool.dispatch("plain").value().wait_accepted(kPatience));
  EXPECT_TRUE(waits_because(pool, "plain", "no worker takes residents"));
  ASSERT_TRUE(pool.add_worker(Handlers{{"poller", run_handler([&](Job& job) {
                                          notes_.write("runs " + job.key() + " of type " + job.type());
                                          while (!job.stop_requested()) std::this_thread::yield();
                                          return std::string();
                                        })}}));
  EXPECT_EQ(problem(ticket.wait_started(kPatience)), "");
  EXPECT_TRUE(notes_.wait_for("runs r of type poller"));
  EXPECT_EQ(pool.key("r").value().why, "");
}

// The option decides, whatever the handler says.
TEST_P(PoolTakes, TheOptionComesBeforeTheHandler) {
  Pool pool = open();
  WorkerOptions options;
  options.takes = {{.kind = JobKind::task, .type = "x"}, {.kind = JobKind::task, .type = "y"}};
  ASSERT_TRUE(pool.add_worker([](Job& job) { return job.type(); }, options));
  EXPECT_EQ(pool.dispatch_task("k", "", {.type = "y"}).value().wait_done(kPatience).value(), "y");
  ASSERT_TRUE(pool.dispatch_task("z", "", {.type = "z"}).value().wait_accepted(kPatience));
  EXPECT_TRUE(waits_because(pool, "z", "no worker takes tasks of type 'z'"));
}

// The users' function sees only workers that take the job.
TEST_P(PoolTakes, AChoiceIsAmongThoseThatTakeTheJob) {
  PoolOptions options = quick();
  options.assignment = Assignment::chosen;
  options.choose = [this](std::string_view key, const std::vector<WorkerView>& workers) {
    std::string seen = std::string(key) + ":";
    for (const WorkerView& worker : workers) seen += " " + std::string(worker.id);
    notes_.write(seen);
    return workers.size() - 1;
  };
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker(Handlers{{"x", [](Job& job) { return job.worker(); }}}, {.id = "a"}));
  ASSERT_TRUE(pool.add_worker([](Job& job) { return job.worker(); }, {.id = "b"}));
  ASSERT_TRUE(pool.add_worker(Handlers{{"y", [](Job& job) { return job.worker(); }}}, {.id = "c"}));
  EXPECT_EQ(pool.dispatch_task("k1", "", {.type = "x"}).value().wait_done(kPatience).value(), "b");
  EXPECT_EQ(pool.dispatch_task("k2", "", {.type = "y"}).value().wait_done(kPatience).value(), "c");
  EXPECT_TRUE(notes_.wait_for("k1: a b"));
  EXPECT_TRUE(notes_.wait_for("k2: b c"));
}

TEST_P(PoolTakes, WhatIsOverABoundIsRefused) {
  Pool pool = open();
  EXPECT_EQ(code_of(pool.dispatch_task("k", "", {.type = std::string(65, 't')})), Errc::invalid);
  WorkerOptions options;
  options.takes = {{.kind = {}, .type = std::string(65, 't')}};
  EXPECT_EQ(code_of(pool.add_worker([](Job&) {}, options)), Errc::invalid);
  EXPECT_EQ(code_of(pool.add_worker(Handlers{})), Errc::invalid);
  EXPECT_EQ(code_of(pool.add_worker(Handlers{{"x", [](Job&) {}}, {"x", [](Job&) {}}})), Errc::invalid);
  const std::string longest(64, 't');
  ASSERT_TRUE(pool.add_worker(Handlers{{longest, [](Job& job) { return job.type(); }}}));
  EXPECT_EQ(pool.dispatch_task("k", "", {.type = longest}).value().wait_done(kPatience).value(), longest);
}

// Types are bytes like keys, and a client without a state may give one.
TEST_P(PoolTakes, AnyBytesFromAnyClient) {
  Pool pool = open();
  const std::string odd("\0\xff:,", 4);
  ASSERT_TRUE(pool.add_worker(Handlers{{odd, [](Job& job) { return job.type(); }}}));
  Pool client_pool = open(client());
  EXPECT_EQ(client_pool.dispatch_task("k", "", {.type = odd}).value().wait_done(kPatience).value(), odd);
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolTakes, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance

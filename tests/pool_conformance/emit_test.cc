// Residents emit the tasks of a source: each runs once and in the order of its key, whoever emits it, with and without
// shards.

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

constexpr std::uint64_t kEvents = 300;
constexpr std::uint64_t kTaskKeys = 7;

// Event n of every source has n % 3 tasks.
std::vector<EmitTask> tasks_of(std::uint64_t event) {
  std::vector<EmitTask> tasks;
  for (std::uint64_t i = 0; i < event % 3; ++i) {
    tasks.push_back({.key = "key-" + std::to_string((event + i) % kTaskKeys),
                     .payload = std::to_string(event) + "/" + std::to_string(i),
                     .position = event});
  }
  return tasks;
}

std::size_t task_count(std::uint64_t events) {
  std::size_t count = 0;
  for (std::uint64_t event = 1; event <= events; ++event) count += event % 3;
  return count;
}

// What a reader does: from where the source is, in pieces of some size, until it is asked to stop.
std::string read_on(Job& job, std::uint64_t step, std::uint64_t until) {
  Result<std::uint64_t> at = job.emitted();
  while (at && *at < until && !job.stop_requested()) {
    const std::uint64_t to = std::min(*at + step, until);
    std::vector<EmitTask> tasks;
    for (std::uint64_t event = *at + 1; event <= to; ++event) {
      for (EmitTask& task : tasks_of(event)) tasks.push_back(std::move(task));
    }
    const Status emitted = job.emit(to, std::move(tasks));
    if (emitted) {
      at = to;
    } else if (emitted.error().code == Errc::lost_history) {
      at = job.emitted();
    } else if (emitted.error().code != Errc::pool_full && emitted.error().code != Errc::busy) {
      return emitted.error().message();
    }
  }
  return at ? "" : at.error().message();
}

class PoolEmit : public PoolConformance {
 protected:
  // Writes down the payloads of a key in their order.
  std::shared_ptr<Handler> tasks_to(std::map<std::string, std::vector<std::string>>& done) {
    return task_handler([this, &done](Job& job) {
      {
        const std::lock_guard lock(mutex_);
        done[job.key()].push_back(job.payload());
      }
      notes_.write("task " + job.key());
      return Outcome();
    });
  }
  void expect_each_once(const std::map<std::string, std::vector<std::string>>& done, std::uint64_t events) {
    std::map<std::string, std::vector<std::string>> expected;
    for (std::uint64_t event = 1; event <= events; ++event) {
      for (const EmitTask& task : tasks_of(event)) expected[task.key].push_back(task.payload);
    }
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(done, expected);
  }
  // Adds a worker that keeps its residents' jobs, for calls from the test's thread.
  void add_keeper(Pool& pool) {
    class Keeper : public Handler {
     public:
      explicit Keeper(PoolEmit& test) : test_(test) {}
      std::vector<JobMatch> takes() const override { return {{.kind = JobKind::resident}}; }
      Outcome start(Job& job) override {
        const std::lock_guard lock(test_.mutex_);
        test_.held_.insert_or_assign(job.key(), job);
        return {};
      }

     private:
      PoolEmit& test_;
    };
    keepers_.push_back(pool.add_worker(std::make_shared<Keeper>(*this)).value());
  }
  // The last tenure of the key.
  Job held(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return held_.at(key);
  }
  Job held(Pool& pool, const std::string& key) {
    add_keeper(pool);
    pool.dispatch(key).value().wait_started(kPatience).value();
    return held(key);
  }

  std::mutex mutex_;
  std::vector<Worker> keepers_;
  std::map<std::string, Job> held_;  // guarded by mutex_
};

TEST_P(PoolEmit, EveryTaskRunsOnceThroughTakeovers) {
  std::map<std::string, std::vector<std::string>> done;
  Pool pool = open();
  pool.add_worker(tasks_to(done), {.id = "tasks"}).value();
  // Each reader emits a third of what is left, in pieces of another size, and is replaced by the next.
  for (const std::uint64_t step : {1U, 7U, 64U}) {
    const std::uint64_t until = step == 1 ? kEvents / 3 : step == 7 ? 2 * kEvents / 3 : kEvents;
    Worker reader = pool.add_worker(run_handler([this, step, until](Job& job) {
                          notes_.write("read until " + std::to_string(until) + read_on(job, step, until));
                          return std::string();
                        }))
                        .value();
    if (step == 1) pool.dispatch("reader").value();
    ASSERT_TRUE(notes_.wait_for("read until " + std::to_string(until)));
    // It finishes by itself, and is dispatched anew for the next.
    while (pool.key("reader")) {
    }
    ASSERT_TRUE(reader.remove());
    if (step == 64) break;
    ASSERT_TRUE(pool.dispatch("reader").value().wait_accepted(kPatience));
  }
  ASSERT_TRUE(notes_.wait_lines(task_count(kEvents) + 3));
  expect_each_once(done, kEvents);
  const std::vector<SourceInfo> sources = pool.sources().value();
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].name, "reader");
  EXPECT_EQ(sources[0].tasks, task_count(kEvents));
}

TEST_P(PoolEmit, ARepeatedEmitChangesNothing) {
  std::map<std::string, std::vector<std::string>> done;
  Pool pool = open();
  pool.add_worker(tasks_to(done)).value();
  Job job = held(pool, "reader");
  EXPECT_EQ(job.emitted().value(), 0U);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(problem(job.emit(4, tasks_of(4))), "");
  EXPECT_EQ(job.emitted().value(), 4U);
  ASSERT_EQ(problem(job.emit(5, tasks_of(5))), "");
  ASSERT_TRUE(notes_.wait_lines(3));
  EXPECT_EQ(pool.sources().value().front().tasks, 3U);
}

// In shards that do not hold the resident, from the moment on in which the next tenure has asked how far the source is.
TEST_P(PoolEmit, AnEarlierTenureEmitsNothing) {
  Pool pool = open();
  Job first = held(pool, "reader");
  ASSERT_EQ(first.emitted().value(), 0U);
  add_keeper(pool);
  keepers_[0].remove().value();
  while (pool.key("reader").value().state != JobState::running) {
  }
  EXPECT_EQ(code_of(first.emitted()), Errc::refused);
  Job second = held("reader");
  ASSERT_GT(second.epoch(), first.epoch());
  EXPECT_EQ(second.emitted().value(), 0U);
  EXPECT_EQ(code_of(first.emit(2, tasks_of(2))), Errc::refused);
  EXPECT_EQ(problem(second.emit(2, tasks_of(2))), "");
  EXPECT_EQ(pool.sources().value().front().tasks, 2U);
}

TEST_P(PoolEmit, AFullQueueTakesAllOrNothing) {
  PoolOptions options = quick();
  options.max_queued_jobs = 4;
  Pool pool = open(options);
  Job job = held(pool, "reader");
  ASSERT_TRUE(job.emitted());
  const auto some = [](std::size_t count) { return std::vector<EmitTask>(count, {.key = "k", .payload = "p"}); };
  EXPECT_EQ(code_of(job.emit(1, some(5))), Errc::invalid) << "it would never fit";
  ASSERT_EQ(problem(job.emit(1, some(3))), "");
  EXPECT_EQ(code_of(job.emit(2, some(2))), Errc::pool_full);
  EXPECT_EQ(pool.sources().value().front().tasks, 3U);
  EXPECT_EQ(job.emitted().value(), 1U);
  pool.add_worker([this](Job& its) { notes_.write("task " + its.payload()); }).value();
  Status emitted = job.emit(2, some(2));
  while (!emitted && emitted.error().code == Errc::pool_full) emitted = job.emit(2, some(2));
  EXPECT_EQ(problem(emitted), "");
  ASSERT_TRUE(notes_.wait_lines(5));
}

TEST_P(PoolEmit, ATaskForAResidentsKeyIsADeadLetter) {
  Pool pool = open();
  Job job = held(pool, "reader");
  ASSERT_TRUE(job.emitted());
  ASSERT_EQ(problem(job.emit(1, {{.key = "reader", .payload = "for nobody"}})), "");
  const std::vector<DeadJob> dead = pool.dead_jobs().value();
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].key, "reader");
  EXPECT_EQ(dead[0].payload, "for nobody");
  EXPECT_NE(dead[0].error.find("resident"), std::string::npos);
  EXPECT_EQ(pool.sources().value().front().buried, 1U);
  EXPECT_TRUE(pool.drop_dead(dead[0].id).value().wait_accepted(kPatience));
}

TEST_P(PoolEmit, WrongCallsFailBeforeAnythingIsWritten) {
  Pool pool = open();
  Job job = held(pool, "reader");
  EXPECT_EQ(code_of(job.emit(1, {})), Errc::invalid) << "it has not asked how far the source is";
  ASSERT_TRUE(job.emitted());
  EXPECT_EQ(code_of(job.emit(0, {})), Errc::invalid);
  EXPECT_EQ(code_of(job.emit(1, {{.key = ""}})), Errc::invalid);
  EXPECT_EQ(code_of(job.emit(1, {{.key = std::string(2000, 'k')}})), Errc::invalid);
  EXPECT_EQ(code_of(job.emit(1, {{.key = "k", .position = 2}})), Errc::invalid);
  EXPECT_EQ(code_of(job.emit(2, {{.key = "k", .position = 2}, {.key = "k", .position = 1}})), Errc::invalid);
  EXPECT_EQ(code_of(job.emit(1, std::vector<EmitTask>(kEmitTasksMax + 1, {.key = "k"}))), Errc::invalid);
  EXPECT_EQ(code_of(job.emit(1, {}, {.source = std::string(2000, 's')})), Errc::invalid);
  EXPECT_EQ(pool.sources().value().front().position, 0U);
  pool.add_worker([this](Job& task) {
        notes_.write("task: " + std::string(to_string(code_of(task.emit(1, {})))));
        return Outcome();
      })
      .value();
  pool.dispatch_task("t").value().wait_done(kPatience).value();
  EXPECT_TRUE(notes_.wait_for("task: invalid"));
}

// Also with shards of which only one gets a task: the others hear of the position before long.
TEST_P(PoolEmit, AllShardsHearHowFarTheSourceIs) {
  Pool pool = open();
  Job job = held(pool, "reader");
  ASSERT_TRUE(job.emitted());
  ASSERT_EQ(problem(job.emit(9, {{.key = "k"}})), "");
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (pool.sources().value().front().position < 9 && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(pool.sources().value().front().position, 9U);
}

TEST_P(PoolEmit, AResidentMayEmitSeveralSources) {
  Pool pool = open();
  Job job = held(pool, "reader");
  for (const std::string source : {"topic/0", "topic/1"}) {
    ASSERT_EQ(job.emitted({.source = source}).value(), 0U);
    ASSERT_EQ(problem(job.emit(3, {{.key = "k-" + source}}, {.source = source})), "");
  }
  const std::vector<SourceInfo> sources = pool.sources().value();
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[0].name, "topic/0");
  EXPECT_EQ(sources[1].name, "topic/1");
  EXPECT_EQ(sources[1].key, "reader");
  EXPECT_EQ(sources[1].epoch, job.epoch());
}

// By a client that keeps no state, too.
TEST_P(PoolEmit, AForgottenSourceBeginsAnew) {
  Pool pool = open();
  Job job = held(pool, "reader");
  ASSERT_TRUE(job.emitted());
  ASSERT_EQ(problem(job.emit(3, {{.key = "k"}})), "");
  Pool other = open(client());
  EXPECT_EQ(other.sources().value().size(), 1U);
  EXPECT_EQ(problem(other.forget_source("reader")), "");
  EXPECT_EQ(code_of(other.forget_source("reader")), Errc::no_such_key);
  EXPECT_TRUE(other.sources().value().empty());
  // The emitter believes that the source is further, and does not pass over what would be missing.
  EXPECT_EQ(code_of(job.emit(4, {{.key = "k"}})), Errc::lost_history);
  EXPECT_EQ(job.emitted().value(), 0U);
  EXPECT_EQ(problem(job.emit(4, {{.key = "k"}})), "");
}

TEST_P(PoolEmit, AJobThatOutlivesItsPoolEmitsNothing) {
  std::optional<Job> job;
  {
    Pool pool = open();
    job.emplace(held(pool, "reader"));
    ASSERT_TRUE(job->emitted());
    keepers_.clear();
  }
  EXPECT_EQ(code_of(job->emit(1, {})), Errc::closed);
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolEmit, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance

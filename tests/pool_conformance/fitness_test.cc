// A deploy of a version whose every start fails, and then of one that works.

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

constexpr int kTenants = 1'000;
// A worker that can start nothing takes no more keys than this from the others before it is unfit, in each shard. From
// then on it takes one at a time, as a probe.
constexpr int kTakenMax = 8;
constexpr int kBadWorkers = 4;

// How many residents run, and how many of them were missing at the worst moment.
class Census {
 public:
  void came() {
    std::lock_guard lock(mutex_);
    ++running_;
    changed_.notify_all();
  }
  void went() {
    std::lock_guard lock(mutex_);
    --running_;
    if (all_) most_ = std::max(most_, kTenants - running_);
  }
  bool wait_all() {
    std::unique_lock lock(mutex_);
    all_ = changed_.wait_for(lock, kPatience, [this] { return running_ == kTenants; });
    return all_;
  }
  int most_missing() {
    std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool all_ = false;
  int running_ = 0;
  int most_ = 0;
};

class Counted final : public Handler {
 public:
  explicit Counted(Census& census) : census_(census) {}
  Outcome start(Job&) override {
    census_.came();
    return {};
  }
  std::optional<std::string> stop(Job&) override {
    census_.went();
    return std::nullopt;
  }

 private:
  Census& census_;
};

class Broken final : public Handler {
 public:
  Outcome start(Job&) override { throw std::runtime_error("no such table"); }
};

class PoolFitness : public PoolConformance {
 protected:
  // Writes down which workers are unfit.
  PoolOptions watched() {
    PoolOptions options = quick();
    options.max_queued_jobs = kTenants;
    options.logger = [this](LogLevel, std::string_view text) {
      const std::size_t at = text.find("worker '");
      if (at == std::string_view::npos || text.find("is unfit") == std::string_view::npos) return;
      const std::string_view rest = text.substr(at + 8);
      notes_.write("unfit " + std::string(rest.substr(0, rest.find('\''))));
    };
    return options;
  }
  static WorkerOptions named(std::string id) {
    WorkerOptions options;
    options.id = std::move(id);
    return options;
  }
  static WorkerOptions heir(std::string id, const std::string& replaces) {
    WorkerOptions options = named(std::move(id));
    options.replaces = replaces;
    return options;
  }
};

TEST_P(PoolFitness, ABadDeployInterruptsAFewKeysAndAGoodOneTakesOver) {
  Census census;
  Pool pool = open(watched());
  std::vector<Worker> old;
  for (int i = 0; i < 4; ++i) {
    old.push_back(pool.add_worker(std::make_shared<Counted>(census), named("w" + std::to_string(i))).value());
  }
  for (int i = 0; i < kTenants; ++i) ASSERT_TRUE(pool.dispatch("tenant " + std::to_string(i)));
  ASSERT_TRUE(census.wait_all());

  Pool next = open(watched());
  std::vector<Worker> bad;
  for (int i = 0; i < kBadWorkers; ++i) {
    const std::string number = std::to_string(i);
    bad.push_back(next.add_worker(std::make_shared<Broken>(), heir("bad" + number, "w" + number)).value());
    ASSERT_TRUE(notes_.wait_for("unfit bad" + number));
    // What it took runs elsewhere again before the next one comes: otherwise the losses of two would be added up.
    ASSERT_TRUE(census.wait_all());
  }
  const int shards = GetParam().name.ends_with("_4_shards") ? 4 : 1;
  EXPECT_LE(census.most_missing(), (kTakenMax + kBadWorkers - 1) * shards);
  const Result<std::vector<WorkerInfo>> workers = pool.workers();
  ASSERT_TRUE(workers);
  for (const WorkerInfo& worker : *workers) {
    if (!worker.unfit) continue;
    EXPECT_TRUE(worker.id.starts_with("bad"));
    EXPECT_EQ(worker.error, "no such table");
  }

  Pool fixed = open(watched());
  for (int i = 0; i < kBadWorkers; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_TRUE(fixed.add_worker(std::make_shared<Counted>(census), heir("good" + number, "bad" + number)));
    ASSERT_TRUE(bad[static_cast<std::size_t>(i)].remove());
    ASSERT_TRUE(old[static_cast<std::size_t>(i)].remove());
  }
  ASSERT_TRUE(census.wait_all());
  EXPECT_TRUE(fixed.dead_jobs().value().empty());
}

// The dispatcher of a resident that has never run hears of it, and the key is free; one that has run keeps its key.
TEST_P(PoolFitness, AResidentThatHasRunIsKept) {
  Census census;
  PoolOptions options = watched();
  options.max_attempts = 2;
  Pool pool = open(options);
  Worker good = pool.add_worker(std::make_shared<Counted>(census), named("good")).value();
  ASSERT_TRUE(pool.dispatch("ran").value().wait_started(kPatience));
  ASSERT_TRUE(pool.add_worker(std::make_shared<Broken>(), named("bad")));
  ASSERT_TRUE(good.remove());
  EXPECT_EQ(code_of(pool.dispatch("fresh").value().wait_started(kPatience)), Errc::job_failed);
  EXPECT_TRUE(pool.key("ran")) << "it waits, or is a dead letter";
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolFitness, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance

#pragma once

// A checkout pool with time and threads under the test's control: timers fire when the test advances the time, and
// factories and destructors of workers run when the test says so. The workers count themselves.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tenure/checkout.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "checkout/check_options.h"
#include "checkout/core.h"

namespace tenure {

using namespace std::chrono_literals;

// Posted work, timers and jobs, all run by the test. Thread-safe.
class ManualTime {
 public:
  using Work = std::function<void()>;

  void post(Work work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  void run(Work job) {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  TimerId at(Instant when, Work work) {
    const std::lock_guard lock(mutex_);
    timers_[{when, ++last_}] = std::move(work);
    return last_;
  }
  void cancel(TimerId timer) {
    const std::lock_guard lock(mutex_);
    std::erase_if(timers_, [timer](const auto& entry) { return entry.first.second == timer; });
  }
  Instant now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  std::size_t jobs() const {
    const std::lock_guard lock(mutex_);
    return jobs_.size();
  }

  bool run_one_job() { return run_first(jobs_); }
  bool run_one_post() { return run_first(queue_); }
  // Runs what there is to run now, and what comes of that.
  void settle() {
    while (run_one_post() || run_one_job()) {
    }
  }
  // The same, but lets starts and stops of workers wait.
  void settle_loop() {
    while (run_one_post()) {
    }
  }
  void advance(Nanos by) {
    settle();
    const Instant end = now() + by;
    for (;;) {
      Work work;
      {
        const std::lock_guard lock(mutex_);
        if (timers_.empty() || timers_.begin()->first.first > end) break;
        now_ = std::max(now_, timers_.begin()->first.first);
        work = std::move(timers_.extract(timers_.begin()).mapped());
      }
      work();
      settle();
    }
    const std::lock_guard lock(mutex_);
    now_ = end;
  }

 private:
  bool run_first(std::deque<Work>& from) {
    Work work;
    {
      const std::lock_guard lock(mutex_);
      if (from.empty()) return false;
      work = std::move(from.front());
      from.pop_front();
    }
    work();
    return true;
  }

  mutable std::mutex mutex_;
  Instant now_{std::chrono::hours(1)};
  std::deque<Work> queue_;
  std::deque<Work> jobs_;
  std::map<std::pair<Instant, TimerId>, Work> timers_;
  TimerId last_ = 0;
};

class StageLoop final : public Loop {
 public:
  explicit StageLoop(std::shared_ptr<ManualTime> time) : time_(std::move(time)) {}
  void post(std::function<void()> work) override { time_->post(std::move(work)); }
  TimerId at(Instant when, std::function<void()> work) override { return time_->at(when, std::move(work)); }
  void cancel(TimerId timer) override { time_->cancel(timer); }
  Instant now() const override { return time_->now(); }

 private:
  std::shared_ptr<ManualTime> time_;
};

class StageClock final : public Clock {
 public:
  explicit StageClock(std::shared_ptr<ManualTime> time) : time_(std::move(time)) {}
  Instant now() const override { return time_->now(); }
  std::int64_t wall_ms() const override { return 0; }

 private:
  const std::shared_ptr<ManualTime> time_;
};

class StageExecutor final : public Executor {
 public:
  explicit StageExecutor(std::shared_ptr<ManualTime> time) : time_(std::move(time)) {}
  void run(std::function<void()> job) override { time_->run(std::move(job)); }

 private:
  std::shared_ptr<ManualTime> time_;
};

// What all workers of a stage know.
struct World {
  std::atomic<int> alive{0};
  std::atomic<int> peak{0};
  std::atomic<int> made{0};
  std::atomic<bool> failing{false};
  std::mutex mutex;
  std::vector<WorkerAlarm> alarms;  // by worker, from the first made; guarded by mutex

  WorkerAlarm alarm(int id) {
    const std::lock_guard lock(mutex);
    return alarms.at(static_cast<std::size_t>(id));
  }
};

struct Thing {
  Thing(World& its_world, int its_id) : world(its_world), id(its_id) {
    const int now = ++world.alive;
    int peak = world.peak.load();
    while (now > peak && !world.peak.compare_exchange_weak(peak, now)) {
    }
  }
  ~Thing() { --world.alive; }
  Thing(const Thing&) = delete;
  Thing& operator=(const Thing&) = delete;

  World& world;
  const int id;
  bool valid = true;
};

class Stage {
 public:
  using Lease = CheckoutLease<Thing>;

  explicit Stage(CheckoutOptions options, CheckoutPool<Thing>::Validate validate = {}) {
    EXPECT_TRUE(check_options(options));
    detail::AnyCheck check;
    if (validate) check = [validate](void* thing) { return validate(*static_cast<Thing*>(thing)); };
    options.on_event = [this, next = options.on_event](const CheckoutEvent& event) {
      events.push_back(event);
      if (next) next(event);
    };
    const auto factory = [this](const WorkerAlarm& alarm) { return make(alarm); };
    auto made = std::make_shared<CheckoutCore>(
        std::move(options), detail::as_factory<Thing>(factory), std::move(check),
        CheckoutSurroundings{std::make_shared<StageClock>(time), std::make_unique<StageLoop>(time),
                             std::make_unique<StageExecutor>(time), std::make_unique<SeededEntropy>(7)});
    made->begin();
    core = made.get();
    pool.emplace(std::move(made));
  }
  // Runs all that starts and stops until nothing does.
  static std::unique_ptr<Stage> ready(const CheckoutOptions& options, CheckoutPool<Thing>::Validate validate = {}) {
    auto stage = std::make_unique<Stage>(options, std::move(validate));
    stage->time->settle();
    EXPECT_EQ(stage->state().free, options.default_workers);
    return stage;
  }

  CheckoutState state() const { return pool->state(); }
  // A lease that is there at once.
  Lease take() const {
    auto lease = pool->checkout(0s);
    EXPECT_TRUE(lease) << lease.error().message();
    return lease ? *std::move(lease) : Lease();
  }
  Errc refusal(bool force = false) const {
    auto lease = pool->checkout(0s, force);
    EXPECT_FALSE(lease);
    return lease ? Errc{} : lease.error().code;
  }
  void wait_for_waiting(std::size_t waiters) const {
    while (state().waiting != waiters) std::this_thread::yield();
  }
  int count(CheckoutEvent::Kind kind) const {
    return static_cast<int>(std::count_if(events.begin(), events.end(), [=](const auto& e) { return e.kind == kind; }));
  }

  World world;
  std::shared_ptr<ManualTime> time = std::make_shared<ManualTime>();
  std::vector<CheckoutEvent> events;  // filled as the test runs the loop
  std::optional<CheckoutPool<Thing>> pool;
  CheckoutCore* core = nullptr;  // the pool's

 private:
  Result<std::unique_ptr<Thing>> make(const WorkerAlarm& alarm) {
    if (world.failing) return Failure(Error{Errc::unavailable, "connect", "no route"});
    const std::lock_guard lock(world.mutex);
    world.alarms.push_back(alarm);
    return std::make_unique<Thing>(world, world.made++);
  }
};

inline CheckoutOptions sized(std::uint32_t default_workers, std::uint32_t max_workers, std::int64_t max_queue = 0) {
  CheckoutOptions options;
  options.default_workers = default_workers;
  options.max_workers = max_workers;
  options.max_queue = max_queue;
  return options;
}

}  // namespace tenure

#pragma once

// Shared by the pool's tests: an engine from log_conformance, pools with short timeouts, and a notebook in which
// handlers record what they saw, so that tests wait for events and never for time.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tenure/tenure.hpp>
#include <vector>

#include "log_conformance/engine.h"

namespace tenure::conformance {

using namespace std::chrono_literals;

// Far longer than anything takes: only a test that fails waits for it.
constexpr std::chrono::seconds kPatience{30};

class Notebook {
 public:
  using Pages = std::vector<std::string>;

  void write(std::string line) {
    std::lock_guard lock(mutex_);
    pages_.push_back(std::move(line));
    changed_.notify_all();
  }
  bool wait(const std::function<bool(const Pages&)>& reached) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return reached(pages_); });
  }
  bool wait_for(const std::string& line) {
    return wait([&](const Pages& pages) { return std::find(pages.begin(), pages.end(), line) != pages.end(); });
  }
  bool wait_lines(std::size_t count) {
    return wait([&](const Pages& pages) { return pages.size() >= count; });
  }
  Pages pages() {
    std::lock_guard lock(mutex_);
    return pages_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Pages pages_;
};

// A gate where handlers wait until the test opens it.
class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool pass() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// A resident handler that writes down what it is asked, and complains about a second holder.
class Resident : public Handler {
 public:
  explicit Resident(Notebook& notes, std::string name = "") : notes_(notes), name_(std::move(name)) {}

  Outcome start(Job& job) override {
    notes_.write(name_ + "start " + job.key() + (job.last_checkpoint() ? " from " + *job.last_checkpoint() : ""));
    return {};
  }
  std::optional<std::string> stop(Job& job) override {
    notes_.write(name_ + "stop " + job.key());
    return name_ + "blob of " + job.key();
  }
  void notify(Job& job, std::string_view message) override {
    notes_.write(name_ + "notify " + job.key() + " " + std::string(message));
  }

 private:
  Notebook& notes_;
  const std::string name_;
};

// The engines with a pool without shards, and with one that was created with shards. Opening a pool does not need the
// number.
std::vector<TestEngine> pool_engines();

class PoolConformance : public testing::TestWithParam<TestEngine> {
 protected:
  std::string url() const { return place_->url(); }
  std::string fresh_url() const { return place_->fresh_url(); }
  // What a pool that has ended left behind.
  std::vector<std::string> leftovers() const { return place_->leftovers(); }

  // Quick to retry, and in the tests of one machine never short of a lease.
  static PoolOptions quick() {
    PoolOptions options;
    options.retry_backoff = 1ms;
    options.max_attempts = 3;
    options.worker_shutdown_ttl = 20s;
    return options;
  }
  Pool open(PoolOptions options = quick()) const { return Pool("default", url(), std::move(options)); }
  static PoolOptions client() {
    PoolOptions options = quick();
    options.client_only = true;
    return options;
  }

  Notebook notes_;

 private:
  std::unique_ptr<Place> place_ = GetParam().make_place();
};

template <class Answer>
Errc code_of(const Answer& answer) {
  return answer ? Errc{} : answer.error().code;
}

template <class Answer>
std::string problem(const Answer& answer) {
  return answer ? "" : answer.error().message();
}

}  // namespace tenure::conformance

#pragma once

// For tests of feeders: processes that share a pool in memory and read a scripted topic, and a notebook of what was
// done.

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <tenure/tenure.hpp>

#include "feeder/scripted_source.h"
#include "pool/pool_impl.h"

namespace tenure::test {

using namespace std::chrono_literals;

// Far longer than anything takes: only a test that fails waits for it.
constexpr std::chrono::seconds kPatience{30};

// Thread-safe.
class Notes {
 public:
  void write(const Bytes& key, const Bytes& payload) {
    const std::lock_guard lock(mutex_);
    by_key_[key].push_back(payload);
    ++count_;
    changed_.notify_all();
  }
  void say(std::string line) {
    const std::lock_guard lock(mutex_);
    log_.push_back(std::move(line));
    changed_.notify_all();
  }
  bool wait(const std::function<bool()>& reached) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, reached);
  }
  bool wait_count(std::size_t count) {
    return wait([&] { return count_ >= count; });
  }
  bool wait_log(const std::string& part) {
    return wait([&] { return said(part) != 0; });
  }
  // How many lines of the log have this part. With the lock held, or when nothing is written any more.
  std::size_t said(const std::string& part) const {
    std::size_t lines = 0;
    for (const std::string& line : log_) lines += line.find(part) != std::string::npos ? 1 : 0;
    return lines;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  std::map<Bytes, std::vector<Bytes>> by_key() {
    const std::lock_guard lock(mutex_);
    return by_key_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Bytes, std::vector<Bytes>> by_key_;
  std::vector<std::string> log_;
  std::size_t count_ = 0;
};

// One process of the pool, in this one.
class Member {
 public:
  Member(const std::string& url, Notes& notes, PoolOptions options = {}) : notes_(notes) {
    options.guard = Guard::off;
    options.retry_backoff = 1ms;
    options.logger = [&notes](LogLevel, std::string_view text) { notes.say(std::string(text)); };
    pool_ = PoolImpl::open("feeding", url, std::move(options)).value();
  }

  PoolImpl& pool() { return *pool_; }
  Shards& shards() { return pool_->shards(); }
  Status read(const std::shared_ptr<ScriptedTopic>& topic, SourceOptions options = {}) {
    if (options.url.empty()) options.url = "memory:x?stream=topic";
    return pool_->add_source(options, [topic](std::string_view) -> Result<std::unique_ptr<source::Source>> {
      return std::make_unique<ScriptedSource>(topic);
    });
  }
  // A worker that writes down what it does.
  void work(WorkerOptions options = {}) {
    pool_
        ->add_worker(task_handler([&notes = notes_](Job& job) {
                       notes.write(job.key(), job.payload());
                       return Outcome();
                     }),
                     std::move(options))
        .value();
  }
  Status close() { return pool_->close(pool_->close_deadline()); }

 private:
  Notes& notes_;
  std::shared_ptr<PoolImpl> pool_;
};

class Feeding : public testing::Test {
 protected:
  static std::shared_ptr<ScriptedTopic> topic_of(std::size_t partitions) {
    return std::make_shared<ScriptedTopic>(partitions);
  }
  std::string url() const {
    return std::string("memory:") + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  // What the pool says of its sources, through a process of its own.
  std::vector<SourceInfo> sources() {
    Pool client("feeding", url(), {.client_only = true});
    return client.sources().value();
  }
  std::vector<DeadJob> dead() {
    Pool client("feeding", url(), {.client_only = true});
    return client.dead_jobs().value();
  }
  std::optional<SourceInfo> partition(const std::string& name) {
    for (const SourceInfo& info : sources()) {
      if (info.partition == name) return info;
    }
    return std::nullopt;
  }
  // Looks again and again until the partition is as wanted.
  bool wait_partition(const std::string& name, const std::function<bool(const SourceInfo&)>& wanted) {
    return wait_any({name}, wanted);
  }
  bool wait_any(const std::vector<std::string>& names, const std::function<bool(const SourceInfo&)>& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      for (const std::string& name : names) {
        const auto info = partition(name);
        if (info && wanted(*info)) return true;
      }
    }
    return false;
  }

  Notes notes_;
};

}  // namespace tenure::test

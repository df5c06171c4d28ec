#pragma once

// A pool whose log loses everything: some members with residents, a dead letter and a delayed task, and a ledger that
// complains about two holders and about epochs that come again.

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tenure/tenure.hpp>
#include <vector>

namespace tenure::conformance {

using namespace std::chrono_literals;

// Who holds which key, and under which epochs they were started. Fails where one has two holders.
class Ledger {
 public:
  void start(const std::string& key, std::uint64_t epoch) {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(held_[key], 0) << key << " has two holders";
    EXPECT_GT(epoch, epochs_[key]) << key << " got an epoch that was given before";
    ++held_[key];
    epochs_[key] = epoch;
    changed_.notify_all();
  }
  void stop(const std::string& key) {
    std::lock_guard lock(mutex_);
    --held_[key];
    changed_.notify_all();
  }
  // All keys run, under epochs above these.
  bool wait_all(const std::map<std::string, std::uint64_t>& above, std::size_t keys) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] {
      std::size_t good = 0;
      for (const auto& [key, held] : held_) {
        const auto before = above.find(key);
        good += held == 1 && (before == above.end() || epochs_[key] > before->second) ? 1 : 0;
      }
      return good == keys;
    });
  }
  bool wait_none() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] {
      return std::all_of(held_.begin(), held_.end(), [](const auto& entry) { return entry.second == 0; });
    });
  }
  std::map<std::string, std::uint64_t> epochs() {
    std::lock_guard lock(mutex_);
    return epochs_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> held_;
  std::map<std::string, std::uint64_t> epochs_;
};

class Tenant final : public Handler {
 public:
  explicit Tenant(Ledger& ledger) : ledger_(ledger) {}
  Outcome start(Job& job) override {
    if (job.key() == "bad") return NoRetry{"no good"};
    ledger_.start(job.key(), job.epoch());
    return {};
  }
  std::optional<std::string> stop(Job& job) override {
    ledger_.stop(job.key());
    return std::nullopt;
  }

 private:
  Ledger& ledger_;
};

class HealingPool {
 public:
  static constexpr int kMembers = 3;
  static constexpr int kKeys = 40;

  explicit HealingPool(std::string url) : url_(std::move(url)) {}

  PoolOptions options() {
    PoolOptions options;
    options.worker_ttl = 3s;
    options.max_attempts = 7;
    if (!heals) options.heal = false;  // otherwise the default
    options.logger = [this](LogLevel, std::string_view text) {
      std::lock_guard lock(mutex_);
      restored_ += text.find("the pool is back") != std::string_view::npos ? 1 : 0;
    };
    return options;
  }
  void fill() {
    for (int i = 0; i < kMembers; ++i) {
      members.push_back(std::make_unique<Pool>("heal", url_, options()));
      ASSERT_TRUE(members.back()->add_worker(std::make_shared<Tenant>(ledger)));
    }
    for (int i = 0; i < kKeys; ++i) {
      const auto ticket = members[0]->dispatch("tenant-" + std::to_string(i));
      ASSERT_TRUE(ticket && ticket->wait_started(30s));
    }
    const auto bad = members[0]->dispatch_task("bad");
    ASSERT_TRUE(bad);
    ASSERT_FALSE(bad->wait_done(30s));
    const auto later = members[0]->dispatch_task("later", "x", {.delay = 1h});
    ASSERT_TRUE(later && later->wait_accepted(30s));
    // One member puts back what it has read itself, whichever it will be.
    for (const auto& member : members) ASSERT_TRUE(member->key("later"));
    ASSERT_TRUE(ledger.wait_all({}, kKeys));
  }
  // Everything is there again, under epochs above these.
  void expect_back(const std::map<std::string, std::uint64_t>& before) {
    ASSERT_TRUE(ledger.wait_all(before, kKeys));
    const auto dead = members[1]->dead_jobs();
    ASSERT_TRUE(dead);
    ASSERT_EQ(dead->size(), 1U);
    EXPECT_EQ(dead->front().key, "bad");
    const auto later = members[1]->key("later");
    EXPECT_TRUE(later) << later.error().message();
    EXPECT_GE(restored(), 1);
  }
  int restored() {
    std::lock_guard lock(mutex_);
    return restored_;
  }
  void close() {
    for (const auto& member : members) member->close();
  }

  bool heals = true;
  Ledger ledger;
  std::vector<std::unique_ptr<Pool>> members;

 private:
  const std::string url_;
  std::mutex mutex_;
  int restored_ = 0;  // guarded by mutex_
};

}  // namespace tenure::conformance

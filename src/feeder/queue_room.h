#pragma once

// How much room the queues of a pool have, as this process sees it. The pool refuses an emit that does not fit, after
// its record was written to the log. So feeders check the room first, and wait for it.
//
// Thread-safe. The nodes' loops note the state; feeders read it.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "base/shard.h"

namespace tenure::feeder {

class QueueRoom {
 public:
  // Call it before the first feeder begins.
  void set_shards(std::uint32_t shards) { count_ = shards; }
  std::uint32_t shards() const { return count_; }
  // max_queued_jobs; zero until it is known.
  std::uint32_t bound() const { return bound_.load(std::memory_order_relaxed); }
  // The free room, less the tasks in flight. Unlimited until the state is known.
  std::uint32_t room(std::uint32_t shard) const {
    const Of& of = shards_[shard];
    if (bound() == 0) return UINT32_MAX;
    const std::uint64_t used = of.queued.load(std::memory_order_relaxed) + of.sent.load(std::memory_order_relaxed);
    return bound() - static_cast<std::uint32_t>(std::min<std::uint64_t>(used, bound()));
  }
  // With this much room a feeder does not wait for more.
  std::uint32_t enough() const { return std::max<std::uint32_t>(bound() / 4, 1); }

  // Call these when tasks were sent, and when they were answered.
  void sent(std::uint32_t shard, std::uint32_t tasks) { shards_[shard].sent += tasks; }
  void answered(std::uint32_t shard, std::uint32_t tasks) { shards_[shard].sent -= tasks; }

  // Call it with the state of a shard after each entry of its log.
  void note(std::uint32_t shard, std::uint32_t queued, std::uint32_t bound) {
    bound_.store(bound, std::memory_order_relaxed);
    shards_[shard].queued.store(queued, std::memory_order_relaxed);
    if (!wanted_.load(std::memory_order_relaxed) || room(shard) < enough()) return;
    if (wanted_.exchange(false)) wake();
  }

  // Wakes the waiting feeders when a shard has enough room. They also look again by themselves after a while.
  void want() { wanted_ = true; }
  void add_waiter(const void* who, std::function<void()> woken) {
    const std::lock_guard lock(mutex_);
    waiters_[who] = std::move(woken);
  }
  void remove_waiter(const void* who) {
    const std::lock_guard lock(mutex_);
    waiters_.erase(who);
  }

 private:
  struct Of {
    std::atomic<std::uint32_t> queued = 0;
    std::atomic<std::uint32_t> sent = 0;
  };

  // Runs under the lock, so a removed waiter is never called. Waiters must be short.
  void wake() {
    const std::lock_guard lock(mutex_);
    for (const auto& [who, woken] : waiters_) woken();
  }

  std::array<Of, kShardsMax> shards_{};
  std::atomic<std::uint32_t> count_ = 1;
  std::atomic<std::uint32_t> bound_ = 0;
  std::atomic<bool> wanted_ = false;
  std::mutex mutex_;
  std::map<const void*, std::function<void()>> waiters_;  // guarded by mutex_
};

}  // namespace tenure::feeder

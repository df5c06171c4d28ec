#pragma once

// The acts that the user requests from the director. Thread-safe.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "base/clock.h"

namespace tenure::demo {

class Inbox {
 public:
  // Drops acts beyond a few: the user held the key down.
  void put(char act) {
    std::lock_guard lock(mutex_);
    if (acts_.size() < kActsMax) acts_.push_back(act);
    changed_.notify_all();
  }
  void quit() {
    std::lock_guard lock(mutex_);
    quit_ = true;
    changed_.notify_all();
  }
  bool quitting() const {
    std::lock_guard lock(mutex_);
    return quit_;
  }
  // Waits for the next act, at most `patience`. Nothing once the demo ends.
  std::optional<char> take(Nanos patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return quit_ || !acts_.empty(); });
    if (quit_ || acts_.empty()) return std::nullopt;
    const char act = acts_.front();
    acts_.pop_front();
    return act;
  }

 private:
  static constexpr std::size_t kActsMax = 8;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<char> acts_;  // guarded by mutex_
  bool quit_ = false;      // guarded by mutex_
};

}  // namespace tenure::demo

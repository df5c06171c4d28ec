#include "net/turns.h"

#include <utility>

namespace tenure::net {
namespace {

// How often a turn looks for posted work. After that it is the sockets' time again.
constexpr int kRoundsMax = 8;

}  // namespace

void Turns::post(Work work) {
  Work dropped;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  if (closed_) {
    dropped = std::move(work);
    return;
  }
  queue_.push_back(std::move(work));
  // If other work waits, or a turn runs, this work is found without a wake-up.
  if (queue_.size() == 1 && !open_) wake_();
}

void Turns::run_or_post(Work work) {
  if (!guests_ || mine()) return post(std::move(work));
  std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn) return post(std::move(work));
  {
    std::unique_lock lock(mutex_);
    if (closed_ || !queue_.empty()) {
      lock.unlock();
      turn.unlock();
      return post(std::move(work));
    }
    open_ = true;
  }
  holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  work();
  work = nullptr;
  finish();
  if (after_.empty()) return;
  std::lock_guard lock(mutex_);
  if (!closed_) wake_();
}

void Turns::take(const Work& work) {
  {
    std::lock_guard turn(turn_);
    begin();
    if (work && !closed()) work();
    finish();
    calls_.swap(after_);
  }
  for (Work& call : calls_) {
    if (closed()) break;
    call();
    call = nullptr;
  }
  calls_.clear();
}

void Turns::begin() {
  holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  open_ = true;
}

// Work that was posted in one turn runs in rounds, so that work that came together stays together.
void Turns::finish() {
  for (int i = 0;; ++i) {
    {
      std::lock_guard lock(mutex_);
      if (queue_.empty() || closed_ || i == kRoundsMax) {
        open_ = false;
        if (!queue_.empty() && !closed_) wake_();
        break;
      }
      round_.swap(queue_);
    }
    for (Work& work : round_) {
      if (closed()) break;
      work();
      work = nullptr;
    }
    round_.clear();
  }
  holder_.store({}, std::memory_order_relaxed);
}

void Turns::close() {
  std::vector<Work> unrun;
  std::vector<Work> uncalled;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    unrun.swap(queue_);
  }
  std::lock_guard turn(turn_);
  uncalled.swap(after_);
}

bool Turns::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace tenure::net

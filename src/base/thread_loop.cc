#include "base/thread_loop.h"

#include <pthread.h>

#include <future>

#include "base/assert.h"

namespace tenure {

ThreadLoop::ThreadLoop(std::string name) : thread_([this] { serve(); }) {
  name.resize(std::min<std::size_t>(name.size(), 15));  // the kernel's limit
  pthread_setname_np(thread_.native_handle(), name.c_str());
}

ThreadLoop::~ThreadLoop() {
  ASSERT(!on_loop());
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ThreadLoop::post(std::function<void()> work) {
  std::function<void()> dropped;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  if (stopping_) {
    dropped = std::move(work);
    return;
  }
  queue_.push_back(std::move(work));
  // Behind other work it is found without a wake-up, which costs more than most work.
  if (queue_.size() == 1) wake_.notify_one();
}

void ThreadLoop::run(std::function<void()> work) {
  ASSERT(!on_loop());
  std::promise<void> done;
  auto ran = done.get_future();
  post([&] {
    work();
    done.set_value();
  });
  ran.wait();
}

TimerId ThreadLoop::at(Instant when, std::function<void()> work) {
  const TimerId id = ++last_timer_;
  timers_.emplace(Due{when, id}, std::move(work));
  due_of_.emplace(id, when);
  return id;
}

void ThreadLoop::cancel(TimerId timer) {
  const auto found = due_of_.find(timer);
  if (found == due_of_.end()) return;
  timers_.erase(Due{found->second, timer});
  due_of_.erase(found);
}

void ThreadLoop::serve() {
  std::deque<std::function<void()>> batch;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto ready = [this] { return stopping_ || !queue_.empty(); };
      if (timers_.empty()) {
        wake_.wait(lock, ready);
      } else {
        // The condition variable knows no CLOCK_BOOTTIME, so it waits for a span, which a suspended machine may
        // stretch; the timers themselves are judged by CLOCK_BOOTTIME when the wait ends.
        const Nanos span = timers_.begin()->first.when - now();
        if (span > Nanos(0)) wake_.wait_for(lock, span, ready);
      }
      if (stopping_) break;
      batch.swap(queue_);
    }
    for (auto& work : batch) work();
    batch.clear();
    fire_due();
  }
  timers_.clear();
  std::unique_lock lock(mutex_);
  batch.swap(queue_);
  lock.unlock();
  batch.clear();
}

void ThreadLoop::fire_due() {
  const Instant now = this->now();
  while (!timers_.empty() && timers_.begin()->first.when <= now) {
    auto timer = timers_.extract(timers_.begin());
    due_of_.erase(timer.key().id);
    timer.mapped()();
  }
}

}  // namespace tenure

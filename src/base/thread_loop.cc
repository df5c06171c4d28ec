#include "base/thread_loop.h"

#include <pthread.h>

#include <future>

#include "base/assert.h"

namespace tenure {
namespace {

// How many rounds a guest runs of the work that its own work has posted, before it leaves the rest to the loop's
// thread.
constexpr int kGuestRoundsMax = 3;

constexpr Instant kNever{Nanos::max()};

}  // namespace

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
  if (on_loop() && guest_) return of_guest_.push_back(std::move(work));
  std::function<void()> dropped;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  if (stopping_) {
    dropped = std::move(work);
    return;
  }
  queue_.push_back(std::move(work));
  // If other work is queued, or another thread has the turn, the work is found without a wake-up, which costs more than
  // most work.
  if (queue_.size() == 1 && !taken_) wake_.notify_one();
}

void ThreadLoop::run_or_post(std::function<void()> work) {
  {
    std::unique_lock lock(mutex_);
    if (taken_ || stopping_ || !queue_.empty()) {
      lock.unlock();
      return post(std::move(work));
    }
    taken_ = true;
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  guest_ = true;
  work();
  work = nullptr;
  for (int round = 0; round < kGuestRoundsMax && !of_guest_.empty(); ++round) {
    batch_.swap(of_guest_);
    for (auto& posted : batch_) posted();
    batch_.clear();
  }
  guest_ = false;
  std::unique_lock lock(mutex_);
  // The guest's remaining work was posted before everything in the queue.
  queue_.insert(queue_.begin(), std::make_move_iterator(of_guest_.begin()), std::make_move_iterator(of_guest_.end()));
  of_guest_.clear();
  end_turn();
  const bool timer = asleep_until_ && !timers_.empty() && timers_.begin()->first.when < *asleep_until_;
  // notify with the lock held: the loop may be destroyed after it is released
  if (stopping_) return wake_.notify_one();
  const bool wake = timer || !queue_.empty();
  lock.unlock();
  if (wake) wake_.notify_one();  // notified without the lock, so that the woken thread need not wait for it
}

// With the lock held.
void ThreadLoop::end_turn() {
  taken_ = false;
  holder_.store({}, std::memory_order_relaxed);
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
  std::unique_lock lock(mutex_);
  for (;;) {
    take_turn(lock);
    if (stopping_) break;
    batch_.swap(queue_);
    lock.unlock();
    for (auto& work : batch_) work();
    batch_.clear();
    fire_due();
    lock.lock();
    end_turn();
  }
  batch_.swap(queue_);
  lock.unlock();
  timers_.clear();
  batch_.clear();
}

// Waits until there is something to do and no guest has the turn.
void ThreadLoop::take_turn(std::unique_lock<std::mutex>& lock) {
  while (taken_ || (!stopping_ && queue_.empty() && !timer_due())) sleep(lock);
  taken_ = true;
  holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

// Sleeps until a notification, or until a timer may be due. A guest that has set timers in its turn notifies this
// thread if one of them is due before it would wake up.
void ThreadLoop::sleep(std::unique_lock<std::mutex>& lock) {
  asleep_until_ = taken_ || timers_.empty() ? kNever : timers_.begin()->first.when;
  if (*asleep_until_ == kNever) {
    wake_.wait(lock);
  } else {
    // The condition variable does not support CLOCK_BOOTTIME, so it waits for a duration, which is longer if the
    // machine is suspended. The timers are compared with CLOCK_BOOTTIME after the wait.
    wake_.wait_for(lock, *asleep_until_ - now());
  }
  asleep_until_.reset();
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

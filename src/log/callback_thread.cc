#include "log/callback_thread.h"

#include <pthread.h>

#include "base/assert.h"

namespace tenure {
namespace {

// Calls taken per lock. Small, so that a beat's answer overtakes a flood of data answers. Large enough to make the cost
// of the lock negligible.
constexpr std::size_t kRunMax = 64;

}  // namespace

CallbackThread::CallbackThread() : thread_([this] { serve(); }) {
  pthread_setname_np(thread_.native_handle(), "tenure-callback");
}

CallbackThread::~CallbackThread() { close(); }

void CallbackThread::post(Lane lane, Call call) {
  {
    std::lock_guard lock(mutex_);
    if (!closed()) {
      queues_[static_cast<std::size_t>(lane)].push_back({std::move(call), {}});
      waiting_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  wake_.notify_one();
}

void CallbackThread::post(Lane lane, std::vector<Appended>& answers) {
  {
    std::lock_guard lock(mutex_);
    if (!closed()) {
      Queue& queue = queues_[static_cast<std::size_t>(lane)];
      for (Appended& answer : answers) queue.push_back({nullptr, std::move(answer)});
      waiting_.fetch_add(answers.size(), std::memory_order_relaxed);
    }
  }
  answers.clear();
  wake_.notify_one();
}

void CallbackThread::close() {
  ASSERT(std::this_thread::get_id() != thread_.get_id());
  std::call_once(closing_, [this] {
    std::array<Queue, 2> unrun;  // destroyed without the lock, because a callback may own anything
    {
      std::lock_guard lock(mutex_);
      closed_.store(true, std::memory_order_release);
      queues_.swap(unrun);
    }
    wake_.notify_one();
    thread_.join();
  });
}

void CallbackThread::serve() {
  std::vector<Item> run;
  run.reserve(kRunMax);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return closed() || !queues_[0].empty() || !queues_[1].empty(); });
      if (closed()) return;
      take(run);
    }
    for (Item& item : run) {
      if (closed()) break;
      item.call ? item.call() : item.answer.done(item.answer.position);
      item = {};  // release what it captured before the other calls run
    }
    run.clear();
  }
}

void CallbackThread::take(std::vector<Item>& run) {
  for (const Lane lane : {Lane::beat, Lane::data}) {
    Queue& queue = queues_[static_cast<std::size_t>(lane)];
    while (!queue.empty() && run.size() < kRunMax) {
      run.push_back(queue.take_front());
    }
  }
  waiting_.fetch_sub(run.size(), std::memory_order_relaxed);
}

}  // namespace tenure

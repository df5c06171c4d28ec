#include "checkout/thread_mark.h"

#include <mutex>
#include <thread>

#include "checkout/asymmetric_fence.h"

namespace tenure {

thread_local constinit detail::CheckoutThread detail::own_checkouts{};

// Gives a thread's mark back when the thread ends. If a later destructor acquires one again, that one stays taken.
class MarkKeeper {
 public:
  ~MarkKeeper() {
    if (mark != nullptr) mark->taken_.store(false, std::memory_order_release);
    detail::own_checkouts.mark = nullptr;
  }
  ThreadMark* mark = nullptr;
};

namespace {

std::atomic<ThreadMark*> first_mark{nullptr};
std::mutex growing;
thread_local MarkKeeper keeper;

}  // namespace

ThreadMark& ThreadMark::acquire() {
  for (ThreadMark* mark = first_mark.load(std::memory_order_acquire); mark != nullptr; mark = mark->next_) {
    bool taken = false;
    if (mark->taken_.compare_exchange_strong(taken, true, std::memory_order_acquire)) {
      keeper.mark = mark;
      return *mark;
    }
  }
  auto* mark = new ThreadMark;
  const std::lock_guard lock(growing);
  ThreadMark* first = first_mark.load(std::memory_order_relaxed);
  mark->next_ = first;
  mark->number_ = first == nullptr ? 0 : first->number_ + 1;
  first_mark.store(mark, std::memory_order_release);
  keeper.mark = mark;
  return *mark;
}

void ThreadMark::wait_until_left(const CheckoutCore* core) {
  heavy_fence();
  for (const ThreadMark* mark = first_mark.load(std::memory_order_acquire); mark != nullptr; mark = mark->next_) {
    if (mark == mine_if_any()) continue;
    while (mark->at.load(std::memory_order_acquire) == core) std::this_thread::yield();
  }
}

}  // namespace tenure

#pragma once

// Information that a thread leaves for others: which pool's memory it is about to touch for the last time (a hazard
// pointer), and which slots it used last.
//
// A checkin frees its slot first and looks at the pool afterwards. In between the pool may be closed, its last worker
// destroyed, and its memory about to be freed. So the thread announces itself before, and the thread that frees the
// pool waits for it. The mark is a plain store; the freeing thread pays the cost (heavy_fence).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <tenure/checkout_fast.hpp>

namespace tenure {

class ThreadMark : detail::CheckoutMark {
 public:
  // The mark of the calling thread.
  static ThreadMark& mine() {
    if (detail::own_checkouts.mark == nullptr) [[unlikely]]
      detail::own_checkouts.mark = &acquire();
    return *mine_if_any();
  }
  // The same, or null if the thread has none yet.
  static ThreadMark* mine_if_any() { return static_cast<ThreadMark*>(detail::own_checkouts.mark); }
  // Waits until no other thread uses that pool.
  static void wait_until_left(const CheckoutCore* core);

  void enter(const CheckoutCore* core) {
    at.store(core, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave() { at.store(nullptr, std::memory_order_release); }

  // The slot of the pool that this thread had last, or none. Pools have numbers that are never reused, so a thread gets
  // a slot of its own pool only.
  static detail::CheckoutSlotHead* last_slot(std::uint64_t pool) {
    const Hint& hint = detail::own_checkouts.hints[pool % detail::CheckoutThread::kHints];
    if (hint.pool != pool) return nullptr;
    detail::own_checkouts.last = hint;
    return hint.slot;
  }
  static void set_last_slot(std::uint64_t pool, detail::CheckoutSlotHead* slot) {
    detail::own_checkouts.last = detail::own_checkouts.hints[pool % detail::CheckoutThread::kHints] = {pool, slot};
  }
  // Distributes threads over slots and counters.
  std::size_t number() const { return number_; }

 private:
  friend class MarkKeeper;

  using Hint = detail::CheckoutThread::Hint;

  static ThreadMark& acquire();

  std::size_t number_ = 0;
  std::atomic<bool> taken_{true};  // cleared at the thread's end, for another thread
  ThreadMark* next_ = nullptr;     // list of all marks, which are never freed
};

}  // namespace tenure

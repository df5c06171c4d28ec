#pragma once

// What a thread leaves where others can see it: which pool's memory it is about to touch for the last time (a hazard
// pointer), and which slots it used last.
//
// A checkin frees its slot first and looks at the pool afterwards. In between the pool may be closed, its last worker
// destroyed, and its memory about to be freed; so the thread says beforehand that it is there, and the one who frees
// waits until nobody is. The mark is a plain store: the price is on the side of the one who frees (heavy_fence).

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tenure {

class CheckoutCore;
namespace detail {
struct CheckoutSlot;
}

class ThreadMark {
 public:
  // The calling thread's own.
  static ThreadMark& mine() {
    if (own_mark_ == nullptr) [[unlikely]]
      own_mark_ = &acquire();
    return *own_mark_;
  }
  // The same, or null where it has none yet.
  static ThreadMark* mine_if_any() { return own_mark_; }
  // Waits until no thread but this one is at that pool.
  static void wait_until_left(const CheckoutCore* core);

  void enter(const CheckoutCore* core) {
    at_.store(core, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void leave() { at_.store(nullptr, std::memory_order_release); }

  // The slot this thread last had of a pool, or none. Pools are told apart by numbers that are never used again, so
  // that a slot is only ever given to one who asks on behalf of its own pool.
  static detail::CheckoutSlot* last_slot(std::uint64_t pool) {
    const Hint& hint = own_hints_[pool % kHints];
    return hint.pool == pool ? hint.slot : nullptr;
  }
  static void set_last_slot(std::uint64_t pool, detail::CheckoutSlot* slot) {
    own_hints_[pool % kHints] = {pool, slot};
  }
  // Spreads threads over slots and counters.
  std::size_t number() const { return number_; }

 private:
  friend class MarkKeeper;

  struct Hint {
    std::uint64_t pool = 0;
    detail::CheckoutSlot* slot = nullptr;
  };
  static constexpr std::size_t kHints = 8;

  static ThreadMark& acquire();

  static thread_local constinit ThreadMark* own_mark_;
  static thread_local constinit std::array<Hint, kHints> own_hints_;

  alignas(64) std::atomic<const CheckoutCore*> at_{nullptr};
  std::size_t number_ = 0;
  std::atomic<bool> taken_{true};  // given back at the thread's end, for another thread
  ThreadMark* next_ = nullptr;     // all of them, which are never freed
};

}  // namespace tenure

#pragma once

// A waiter for a worker: a thread (blocking_waiter.h) or an asynchronous request (pending_checkout.h).

#include <cstdint>
#include <memory>
#include <source_location>
#include <tenure/error.hpp>

#include "base/clock.h"

namespace tenure {

class Outbox;
namespace detail {
struct CheckoutSlot;
}

class Waiter {
 public:
  // The slot that it gets, and in which generation.
  struct Grant {
    detail::CheckoutSlot* slot = nullptr;
    std::uint64_t generation = 0;
  };

  virtual ~Waiter() = default;

  // Both are called with the pool's mutex held, after the waiter has left the queue, instead of release(). grant()
  // fails if the waiter has just gone.
  virtual bool grant(const Grant& grant, Outbox& out) = 0;
  virtual void refuse(Errc code, Outbox& out) = 0;
  // Keeps the waiter alive while it is in the queue. Called with the mutex held.
  virtual void hold() {}
  virtual void release(Outbox& /*out*/) {}

  bool forced = false;
  std::source_location where{};
  Instant since;  // start of its first wait

  // Used by the queue; guarded by the pool's mutex.
  Waiter* before = nullptr;
  Waiter* after = nullptr;
  bool queued = false;
};

// First in, first out; any waiter can leave. Guarded by the pool's mutex.
class WaitQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  std::size_t size() const { return size_; }
  Waiter* first() const { return first_; }

  void push_back(Waiter& waiter) {
    waiter.before = last_;
    waiter.after = nullptr;
    (last_ != nullptr ? last_->after : first_) = &waiter;
    last_ = &waiter;
    joined(waiter);
  }
  void push_front(Waiter& waiter) {
    waiter.after = first_;
    waiter.before = nullptr;
    (first_ != nullptr ? first_->before : last_) = &waiter;
    first_ = &waiter;
    joined(waiter);
  }
  void remove(Waiter& waiter) {
    (waiter.before != nullptr ? waiter.before->after : first_) = waiter.after;
    (waiter.after != nullptr ? waiter.after->before : last_) = waiter.before;
    waiter.queued = false;
    --size_;
  }

 private:
  void joined(Waiter& waiter) {
    waiter.queued = true;
    ++size_;
  }

  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tenure

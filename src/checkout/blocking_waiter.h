#pragma once

// A thread that waits for a worker. On that thread's stack.

#include "checkout/outbox.h"
#include "checkout/parking.h"
#include "checkout/waiter.h"

namespace tenure {

class BlockingWaiter final : public Waiter {
 public:
  bool grant(const Grant& grant, Outbox& out) override {
    grant_ = grant;
    return answer(kGranted, out);
  }
  void refuse(Errc code, Outbox& out) override {
    code_ = code;
    answer(kRefused, out);
  }

  // False if the deadline came first. It may still be answered until it has left the queue.
  bool wait(SteadyTime deadline) const { return park(answer_, deadline) != 0; }
  bool answered() const { return answer_.load(std::memory_order_acquire) != 0; }
  bool granted() const { return answer_.load(std::memory_order_acquire) == kGranted; }
  const Grant& given() const { return grant_; }
  Errc refusal() const { return code_; }
  // Prepares it to wait again.
  void reset() { answer_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kGranted = 1;
  static constexpr std::uint32_t kRefused = 2;

  bool answer(std::uint32_t answer, Outbox& out) {
    // The waiter may be destroyed as soon as the word is written and the mutex is free.
    answer_.store(answer, std::memory_order_release);
    out.wake(answer_);
    return true;
  }

  ParkWord answer_{0};
  Grant grant_;
  Errc code_{};
};

}  // namespace tenure

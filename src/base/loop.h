#pragma once

// The loop a node runs on: work in order, timers, and the time. Production gives each loop a thread of its own
// (thread_loop.h); the simulator runs the loops of a whole pool in one thread on virtual clocks.

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace tenure {

using TimerId = std::uint64_t;  // never zero

class Loop {
 public:
  virtual ~Loop() = default;

  // Runs `work` on the loop, after everything posted before it. Callable from any thread. Work posted after the
  // loop has stopped is destroyed without being run.
  virtual void post(std::function<void()> work) = 0;

  // The same where the loop is at something. Where it is idle the calling thread is the loop for so long: it runs the
  // work at once, and what that posts. So nobody has to be woken. Not to be called with a lock that work on the loop
  // takes, nor with work that lasts.
  virtual void run_or_post(std::function<void()> work) { post(std::move(work)); }

  // Runs `work` on the loop once `at` has passed. To be called on the loop only.
  virtual TimerId at(Instant when, std::function<void()> work) = 0;

  // After it returns the work will not run. A timer that has fired or was cancelled is ignored. On the loop only.
  virtual void cancel(TimerId timer) = 0;

  virtual Instant now() const = 0;
};

// A timer that belongs to an object: at most one is armed, and it dies with its owner.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(loop) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void arm(Instant when, std::function<void()> work) {
    cancel();
    when_ = when;
    id_ = loop_.at(when, [this, work = std::move(work)] {
      id_ = 0;
      work();
    });
  }
  void cancel() {
    if (id_ != 0) loop_.cancel(id_);
    id_ = 0;
  }
  bool armed() const { return id_ != 0; }
  Instant when() const { return when_; }  // only while armed

 private:
  Loop& loop_;
  TimerId id_ = 0;
  Instant when_;
};

}  // namespace tenure

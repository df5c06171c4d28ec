#pragma once

// The loop that a node runs on: ordered work, timers, and the time. In production each loop has its own thread
// (thread_loop.h). The simulator runs the loops of a whole pool in one thread on virtual clocks.

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace tenure {

using TimerId = std::uint64_t;  // never zero

class Loop {
 public:
  virtual ~Loop() = default;

  // Runs `work` on the loop, after everything posted before it. Thread-safe. Work posted after the loop has stopped is
  // destroyed without running.
  virtual void post(std::function<void()> work) = 0;

  // The same if the loop is busy. If the loop is idle, the calling thread takes its place for a moment and runs the
  // work at once, with what that work posts, so that no thread has to be woken. Do not call it while holding a lock
  // that work on the loop takes, nor with work that takes long.
  virtual void run_or_post(std::function<void()> work) { post(std::move(work)); }

  // Runs `work` on the loop once `when` has passed. Call it on the loop only.
  virtual TimerId at(Instant when, std::function<void()> work) = 0;

  // After it returns, the work will not run. Ignores a timer that has fired or was cancelled. Call it on the loop only.
  virtual void cancel(TimerId timer) = 0;

  virtual Instant now() const = 0;
};

// A timer that belongs to an object. At most one is armed, and it is cancelled with its owner.
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

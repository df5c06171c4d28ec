#pragma once

// The production loop: one thread, a queue, and a heap of timers, on CLOCK_BOOTTIME.
//
// Work on the loop runs in turns, one at a time. The loop's own thread takes a turn when the queue has work or a timer
// is due. A thread that calls run_or_post() takes a turn if nobody has it. Such a guest runs its own work and what that
// posts. It leaves everything else to the loop's thread: work that other threads post meanwhile, and timers.

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/loop.h"

namespace tenure {

// post(), run_or_post() and now() are thread-safe. at() and cancel() are for the thread that has the turn. The
// destructor stops the loop: it completes the current work, and destroys queued work without running it. It must not
// run on the loop itself.
class ThreadLoop final : public Loop {
 public:
  explicit ThreadLoop(std::string name);
  ~ThreadLoop() override;

  void post(std::function<void()> work) override;
  void run_or_post(std::function<void()> work) override;
  TimerId at(Instant when, std::function<void()> work) override;
  void cancel(TimerId timer) override;
  Instant now() const override { return clock_.now(); }

  // True if the caller has the turn.
  bool on_loop() const { return std::this_thread::get_id() == holder_.load(std::memory_order_relaxed); }
  // Posts the work and waits until it has run. Not allowed on the loop.
  void run(std::function<void()> work);

 private:
  struct Due {
    Instant when;
    TimerId id;
    friend auto operator<=>(const Due&, const Due&) = default;
  };

  void serve();
  void take_turn(std::unique_lock<std::mutex>& lock);
  void sleep(std::unique_lock<std::mutex>& lock);
  void end_turn();
  void fire_due();
  bool timer_due() const { return !timers_.empty() && timers_.begin()->first.when <= now(); }

  BootClock clock_;
  // Owned by the thread that has the turn.
  std::map<Due, std::function<void()>> timers_;
  std::map<TimerId, Instant> due_of_;
  TimerId last_timer_ = 0;
  std::vector<std::function<void()>> of_guest_;  // work that a guest's work has posted
  std::vector<std::function<void()>> batch_;     // work that is running; empty between turns, and kept for its memory
  bool guest_ = false;                           // a guest has the turn

  std::atomic<std::thread::id> holder_;  // the thread that has the turn; for on_loop()

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void()>> queue_;  // this and all below: guarded by mutex_
  bool taken_ = false;                        // somebody has the turn
  bool stopping_ = false;
  std::optional<Instant> asleep_until_;  // set while the loop's thread sleeps
  std::thread thread_;                   // last: it uses all of the above
};

}  // namespace tenure

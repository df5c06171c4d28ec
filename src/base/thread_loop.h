#pragma once

// The production loop: one thread, a queue, and a heap of timers, on CLOCK_BOOTTIME.
//
// What runs on a loop runs in turns, one at a time. The loop's own thread takes a turn when there is something in the
// queue or a timer is due; a thread that comes with run_or_post() takes one when nobody has it. A guest runs its own
// work and what that posts, and leaves everything else to the loop's thread: what others post meanwhile, and timers.

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/loop.h"

namespace tenure {

// post(), run_or_post() and now() are thread-safe; at() and cancel() belong to whoever has the turn. The destructor
// stops the loop: the work at hand is finished, what is still queued is destroyed unrun. It must not run on the loop
// itself.
class ThreadLoop final : public Loop {
 public:
  explicit ThreadLoop(std::string name);
  ~ThreadLoop() override;

  void post(std::function<void()> work) override;
  void run_or_post(std::function<void()> work) override;
  TimerId at(Instant when, std::function<void()> work) override;
  void cancel(TimerId timer) override;
  Instant now() const override { return clock_.now(); }

  // Whether the caller has the turn.
  bool on_loop() const { return std::this_thread::get_id() == holder_.load(std::memory_order_relaxed); }
  // Posts and waits for it to have run. Not to be called on the loop.
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
  // Owned by whoever has the turn.
  std::map<Due, std::function<void()>> timers_;
  std::map<TimerId, Instant> due_of_;
  TimerId last_timer_ = 0;
  std::vector<std::function<void()>> of_guest_;  // what a guest's work has posted
  std::vector<std::function<void()>> batch_;     // what is run; empty between turns, for its memory
  bool guest_ = false;                           // a guest has it

  std::atomic<std::thread::id> holder_;  // who has the turn; for those who ask whether it is themselves

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void()>> queue_;  // this and all below: guarded by mutex_
  bool taken_ = false;                        // the turn
  bool stopping_ = false;
  std::optional<Instant> asleep_until_;  // set while the loop's thread sleeps
  std::thread thread_;                   // last: it uses all of the above
};

}  // namespace tenure

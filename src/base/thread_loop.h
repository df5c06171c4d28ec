#pragma once

// The production loop: one thread, a queue, and a heap of timers, on CLOCK_BOOTTIME.

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/loop.h"

namespace tenure {

// post() and now() are thread-safe; at() and cancel() belong to the loop's own thread. The destructor stops the
// loop: the work at hand is finished, what is still queued is destroyed unrun. It must not run on the loop itself.
class ThreadLoop final : public Loop {
 public:
  explicit ThreadLoop(std::string name);
  ~ThreadLoop() override;

  void post(std::function<void()> work) override;
  TimerId at(Instant when, std::function<void()> work) override;
  void cancel(TimerId timer) override;
  Instant now() const override { return clock_.now(); }

  bool on_loop() const { return std::this_thread::get_id() == thread_.get_id(); }
  // Posts and waits for it to have run. Not to be called on the loop.
  void run(std::function<void()> work);

 private:
  struct Due {
    Instant when;
    TimerId id;
    friend auto operator<=>(const Due&, const Due&) = default;
  };

  void serve();
  void fire_due();

  BootClock clock_;
  // Owned by the loop's thread.
  std::map<Due, std::function<void()>> timers_;
  std::map<TimerId, Instant> due_of_;
  TimerId last_timer_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
  std::thread thread_;                       // last: it uses all of the above
};

}  // namespace tenure

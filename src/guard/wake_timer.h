#pragma once

// A timer that also works while its process is stopped. It sends SIGCONT to the process, and the kernel resumes a
// stopped process when it gets SIGCONT. The signal is blocked and read from a signalfd. A timerfd would wait for
// somebody else to resume the process.

#include <csignal>
#include <cstdint>
#include <ctime>

namespace tenure::guard {

constexpr int kWakeSignal = SIGCONT;

// Belongs to one process: a fork does not inherit the timer.
class WakeTimer {
 public:
  WakeTimer();
  ~WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;

  // At `moment` (CLOCK_BOOTTIME, ns), or at once if it has passed. INT64_MAX: never.
  void set(std::int64_t moment);

 private:
  timer_t timer_{};
};

}  // namespace tenure::guard

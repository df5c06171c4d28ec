#include "guard/wake_timer.h"

#include <algorithm>

#include "base/assert.h"

namespace tenure::guard {

WakeTimer::WakeTimer() {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = kWakeSignal;
  ASSERT(timer_create(CLOCK_BOOTTIME, &event, &timer_) == 0);
}

WakeTimer::~WakeTimer() { timer_delete(timer_); }

void WakeTimer::set(std::int64_t moment) {
  itimerspec when{};
  if (moment != INT64_MAX) {
    const std::int64_t at = std::max<std::int64_t>(moment, 1);  // zero would disarm
    when.it_value = {.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
  }
  timer_settime(timer_, TIMER_ABSTIME, &when, nullptr);
}

}  // namespace tenure::guard

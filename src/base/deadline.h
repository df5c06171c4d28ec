#pragma once

// Until when somebody waits, on the clock of std::condition_variable. For waits of threads; loops have timers.

#include <algorithm>
#include <chrono>

namespace tenure {

using Deadline = std::chrono::steady_clock::time_point;

// A timeout that ends after the clock does counts as none.
inline Deadline after(std::chrono::nanoseconds timeout) {
  const auto now = std::chrono::steady_clock::now();
  return now + std::min<std::chrono::nanoseconds>(timeout, Deadline::max() - now);
}

}  // namespace tenure

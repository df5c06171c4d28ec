#pragma once

// The end of a wait, on the clock of std::condition_variable. For threads that block; loops have timers.

#include <algorithm>
#include <chrono>

namespace tenure {

using Deadline = std::chrono::steady_clock::time_point;

// A timeout beyond the end of the clock means no deadline; one below zero is over at once.
inline Deadline after(std::chrono::nanoseconds timeout) {
  const auto now = std::chrono::steady_clock::now();
  return now + std::clamp<std::chrono::nanoseconds>(timeout, std::chrono::nanoseconds(0), Deadline::max() - now);
}

}  // namespace tenure

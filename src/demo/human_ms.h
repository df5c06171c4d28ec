#pragma once

// Formats times for the demo.

#include <chrono>
#include <string>

#include "base/clock.h"

namespace tenure::demo {

inline double ms(Nanos span) { return std::chrono::duration<double, std::milli>(span).count(); }

// "840 µs", "23 ms", "1.24 s".
std::string human_ms(double ms);

}  // namespace tenure::demo

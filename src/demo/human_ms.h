#pragma once

// Formats times and counts for the demo.

#include <chrono>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace tenure::demo {

inline double ms(Nanos span) { return std::chrono::duration<double, std::milli>(span).count(); }

// "840 µs", "23 ms", "1.24 s".
std::string human_ms(double ms);

// "1 tenant", "16 tenants".
inline std::string tenants(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " tenant" : " tenants");
}

}  // namespace tenure::demo

#pragma once

// Distributions of measured times, as the program prints them.

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tenure::demo {

inline double ms(Nanos span) { return std::chrono::duration<double, std::milli>(span).count(); }

struct Distribution {
  double p50 = 0;
  double p99 = 0;
  double max = 0;
  std::size_t n = 0;
};

Distribution distribution(std::vector<double> samples);

// {"p50":1.2,"p99":3.4,"max":5.6,"n":64}
std::string to_json(const Distribution& distribution);

// "840 µs", "23 ms", "1.24 s".
std::string human_ms(double ms);

}  // namespace tenure::demo

#pragma once

// Collects measured times and summarises them.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "base/quantile.h"

namespace tenure {

// In milliseconds; all zero if nothing was measured.
struct Distribution {
  double p50 = 0;
  double p99 = 0;
  double max = 0;
  std::size_t n = 0;
};

inline Distribution distribution(std::vector<double> samples_ms) {
  if (samples_ms.empty()) return {};
  std::sort(samples_ms.begin(), samples_ms.end());
  return {quantile(samples_ms, 0.5), quantile(samples_ms, 0.99), samples_ms.back(), samples_ms.size()};
}

// Collects measurements. One thread at a time.
class Samples {
 public:
  void add(Nanos span) { samples_ms_.push_back(std::chrono::duration<double, std::milli>(span).count()); }
  tenure::Distribution distribution() const { return tenure::distribution(samples_ms_); }

 private:
  std::vector<double> samples_ms_;
};

}  // namespace tenure

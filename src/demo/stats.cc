#include "demo/stats.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tenure::demo {

Distribution distribution(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto rank = [&](double share) {
    const double at = std::ceil(share * static_cast<double>(samples.size()));
    return samples[static_cast<std::size_t>(std::max(at, 1.0)) - 1];
  };
  return {rank(0.5), rank(0.99), samples.back(), samples.size()};
}

std::string to_json(const Distribution& distribution) {
  char text[160];
  std::snprintf(text, sizeof text, R"({"p50":%.3f,"p99":%.3f,"max":%.3f,"n":%zu})", distribution.p50, distribution.p99,
                distribution.max, distribution.n);
  return text;
}

std::string human_ms(double ms) {
  char text[40];
  if (ms < 1) {
    std::snprintf(text, sizeof text, "%.0f µs", ms * 1000);
  } else if (ms < 10) {
    std::snprintf(text, sizeof text, "%.1f ms", ms);
  } else if (ms < 1000) {
    std::snprintf(text, sizeof text, "%.0f ms", ms);
  } else {
    std::snprintf(text, sizeof text, ms < 100'000 ? "%.2f s" : "%.0f s", ms / 1000);
  }
  return text;
}

}  // namespace tenure::demo

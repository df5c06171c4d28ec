#include "demo/stats.h"

#include <algorithm>
#include <cstdio>

#include "base/quantile.h"

namespace tenure::demo {

Distribution distribution(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.99), samples.back(), samples.size()};
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

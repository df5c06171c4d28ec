#pragma once

// Quantiles by nearest rank: every result is a measured value.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tenure {

// The smallest value that at least `share` (0 to 1) of the values do not exceed. Zero if there are none.
inline double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace tenure

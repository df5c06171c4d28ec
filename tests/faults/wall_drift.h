#pragma once

// Measures how the wall clock moves against CLOCK_BOOTTIME. A server's entries have the wall clock's time, and handlers
// record CLOCK_BOOTTIME. On a virtual machine whose wall clock is being corrected, the two may diverge by milliseconds
// per second.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <vector>

namespace tenure::faults {

// Thread-safe.
class WallDrift {
 public:
  // To be called every few milliseconds: what both clocks show now.
  void look(std::int64_t wall_ns, std::int64_t boot_ns) {
    const std::lock_guard lock(mutex_);
    const std::int64_t apart_ns = wall_ns - boot_ns;
    if (looks_.empty()) first_ns_ = apart_ns;
    const std::int64_t drift_ns = apart_ns - first_ns_;
    if (!looks_.empty() && std::abs(drift_ns - looks_.back().drift_ns) <= kNoticedNs) return;
    // Of a time that was there twice, since the clock was set back, the later one counts.
    while (!looks_.empty() && looks_.back().wall_ns >= wall_ns) looks_.pop_back();
    looks_.push_back({wall_ns, drift_ns});
  }

  // What the wall clock would have shown at that moment, had the two kept pace since the first look.
  std::int64_t steady_ns(std::int64_t wall_ns) const {
    const std::lock_guard lock(mutex_);
    const auto after = std::upper_bound(looks_.begin(), looks_.end(), wall_ns,
                                        [](std::int64_t at, const Look& look) { return at < look.wall_ns; });
    return after == looks_.begin() ? wall_ns : wall_ns - std::prev(after)->drift_ns;
  }

 private:
  static constexpr std::int64_t kNoticedNs = 100'000;

  struct Look {
    std::int64_t wall_ns;
    std::int64_t drift_ns;
  };

  mutable std::mutex mutex_;
  std::int64_t first_ns_ = 0;
  std::vector<Look> looks_;  // where the drift has changed
};

}  // namespace tenure::faults

#pragma once

// Computes the times of a log's entries. The broker's time may go back, with its clock or with another leader. So an
// entry's time is the highest broker time up to it. All readers must compute the same time, since a cursor's hash
// contains it.
//
// A reader that reads on knows the time of its last entry. A reader with a cursor checks the hash: if the broker's time
// of the entry gives the cursor's hash, this is the entry's time. Otherwise the time was raised. To find it, the engine
// reads from an entry whose time is known: the first one, or that of the snapshot, which stores the time.

#include <algorithm>
#include <cstdint>

namespace tenure::kafka {

class Clamp {
 public:
  explicit Clamp(std::int64_t highest_ms = 0) : highest_ms_(highest_ms) {}

  // The time of the next entry.
  std::int64_t next(std::int64_t broker_ms) { return highest_ms_ = std::max(highest_ms_, broker_ms); }
  std::int64_t highest_ms() const { return highest_ms_; }

 private:
  std::int64_t highest_ms_;
};

}  // namespace tenure::kafka

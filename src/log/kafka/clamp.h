#pragma once

// The times of a log's entries. The broker's time goes back when its clock is set back, or with another leader. So an
// entry's time is the highest time up to it. Everyone must come to the same: the time is part of what a cursor proves.
//
// A reader that goes on from its last entry knows that entry's time. One that brings a cursor proves it: if the entry's
// own time gives the cursor's hash, that is it. Otherwise the entry's time was raised, and is found by reading on from
// an entry whose time is known: the beginning of the log, or the snapshot's entry, whose time the snapshot brings.

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

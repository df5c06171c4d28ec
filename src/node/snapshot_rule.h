#pragma once

// When the log since the last snapshot is worth the next one: once it outweighs the state, so that the cost per record
// stays constant, and small beside that of the record itself. What it is measured by is the same on all nodes, so that
// the eldest writes, and the others only if it does not.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace tenure {

// Belongs to its replica's loop.
class SnapshotRule {
 public:
  enum class Verdict : std::uint8_t { not_yet, when_quiet, now };

  // Less of a log than `bytes_min` is not worth a snapshot.
  explicit SnapshotRule(std::uint64_t bytes_min) : bytes_min_(bytes_min) {}

  // To be asked after every run of entries. `log_bytes`: since the last snapshot. `rank`: zero for the eldest.
  Verdict judge(std::uint64_t log_bytes, std::uint64_t state_bytes, std::size_t rank) {
    state_bytes_max_ = std::max(state_bytes_max_, state_bytes);
    const std::uint64_t counted = std::min(state_bytes_max_, kShrunkMax * state_bytes);
    const std::uint64_t due = std::max(bytes_min_, kLogToState * counted);
    const std::uint64_t later = due / 2 * std::min<std::size_t>(rank, kRankMax);
    if (log_bytes >= std::max(kBusyMax * due + later, not_before_)) return Verdict::now;
    return rank == 0 && log_bytes >= std::max(due, not_before_) ? Verdict::when_quiet : Verdict::not_yet;
  }

  // Nothing but this has come within kQuietFor: the moment is a quiet one.
  static constexpr std::uint64_t kQuietBytes = 16U << 10;
  static constexpr Nanos kQuietFor = std::chrono::milliseconds(20);

  void begun(std::uint64_t state_bytes) { state_bytes_max_ = state_bytes; }
  void stored() { not_before_ = 0; }
  // The log grows on, and it is tried again.
  void failed(std::uint64_t log_bytes) { not_before_ = log_bytes + bytes_min_ / 4; }
  void reset() { state_bytes_max_ = 0; }

 private:
  // The log may outweigh the state this many times before a snapshot is due. To read a log again is quicker than to
  // write a state, and where jobs come and go most of a snapshot is out of date before anybody could have read it.
  static constexpr std::uint64_t kLogToState = 2;
  // A state that has shrunk since the last snapshot, as that of a pool which works off what was dispatched to it, is
  // about to shrink further, and the snapshot with it: it counts as large as it was, up to this many times what it is.
  static constexpr std::uint64_t kShrunkMax = 2;
  // One that is due waits for a quiet moment, since all that comes meanwhile would wait for it: until there is this
  // many times as much.
  static constexpr std::uint64_t kBusyMax = 2;
  static constexpr std::size_t kRankMax = 8;

  const std::uint64_t bytes_min_;
  std::uint64_t state_bytes_max_ = 0;  // what the state weighed at most since the last snapshot was begun
  std::uint64_t not_before_ = 0;       // of the log, after a snapshot that could not be stored
};

}  // namespace tenure

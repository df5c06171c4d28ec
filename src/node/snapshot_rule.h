#pragma once

// Decides when the log since the last snapshot is worth the next one: once it is larger than the state. So the cost per
// record stays constant, and small compared with the record itself. The measure is the same on all nodes, so that the
// eldest writes, and the others only if it does not.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace tenure {

// Belongs to its replica's loop.
class SnapshotRule {
 public:
  enum class Verdict : std::uint8_t { not_yet, when_quiet, now };

  // A log shorter than `bytes_min` is not worth a snapshot.
  explicit SnapshotRule(std::uint64_t bytes_min) : bytes_min_(bytes_min) {}

  // Call it after every run of entries. `log_bytes`: since the last snapshot. `rank`: zero for the eldest.
  Verdict judge(std::uint64_t log_bytes, std::uint64_t state_bytes, std::size_t rank) {
    state_bytes_max_ = std::max(state_bytes_max_, state_bytes);
    const std::uint64_t counted = std::min(state_bytes_max_, kShrunkMax * state_bytes);
    const std::uint64_t due = std::max(bytes_min_, kLogToState * counted);
    const std::uint64_t later = due / 2 * std::min<std::size_t>(rank, kRankMax);
    if (log_bytes >= std::max(kBusyMax * due + later, not_before_)) return Verdict::now;
    return rank == 0 && log_bytes >= std::max(due, not_before_) ? Verdict::when_quiet : Verdict::not_yet;
  }

  // If at most this much arrives within kQuietFor, the moment is a quiet one.
  static constexpr std::uint64_t kQuietBytes = 16U << 10;
  static constexpr Nanos kQuietFor = std::chrono::milliseconds(20);

  void begun(std::uint64_t state_bytes) { state_bytes_max_ = state_bytes; }
  void stored() { not_before_ = 0; }
  // Tries again when the log has grown.
  void failed(std::uint64_t log_bytes) { not_before_ = log_bytes + bytes_min_ / 4; }
  void reset() { state_bytes_max_ = 0; }

 private:
  // The log may be larger than the state by this factor before a snapshot is due. Reading a log is faster than writing
  // a state, and if jobs come and go, most of a snapshot is outdated before anybody could read it.
  static constexpr std::uint64_t kLogToState = 2;
  // A state that has shrunk since the last snapshot, because the pool works off its jobs, will shrink further, and the
  // snapshot with it. It counts with its largest size, up to this factor of its current size.
  static constexpr std::uint64_t kShrunkMax = 2;
  // A snapshot that is due waits for a quiet moment, because entries that arrive meanwhile have to wait for it. It
  // waits at most until the log is larger by this factor.
  static constexpr std::uint64_t kBusyMax = 2;
  static constexpr std::size_t kRankMax = 8;

  const std::uint64_t bytes_min_;
  std::uint64_t state_bytes_max_ = 0;  // the largest size of the state since the last snapshot
  std::uint64_t not_before_ = 0;       // size of the log, after a snapshot that could not be stored
};

}  // namespace tenure

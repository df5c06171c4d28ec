#pragma once

// Decides how much of a log may be trimmed. A reader that falls behind a trim loses its state, so the log keeps what
// somebody may still have to read, and no more:
//
//   a snapshot that was stored longer than a lease and a quarter ago   the log before it is trimmed: every living
//                                                                      member has read one of its own beats since
//   more than kKept behind a snapshot older than kRecent,              the log before it is trimmed, once all members
//   or more than kKeptMax behind any                                   have reported in beats that they have read it
//   more than kSlowMax                                                 the same, without the reports
//
// So an idle log shrinks to its last snapshot, a busy one stays at some ten megabytes, and one with a slow member is
// bounded too. Readers that are not members report nothing; kRecent and kKept leave time for them.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "base/clock.h"
#include "log/log.h"

namespace tenure {

// Belongs to its replica's loop.
class Retention {
 public:
  static constexpr std::uint64_t kKept = 16U << 20;
  static constexpr std::uint64_t kKeptMax = 48U << 20;
  static constexpr std::uint64_t kSlowMax = 256U << 20;
  static constexpr Nanos kRecent = std::chrono::seconds(2);

  // The members of the pool at the time of the call.
  struct Members {
    Nanos lease{};                // the longest of their leases
    Position read_by_all = 0;     // all of them have read up to here, by their reports; zero if a report is missing
    std::uint64_t log_bytes = 0;  // applied since the start
  };

  // The state was replaced. Everything known was about another history.
  void reset() {
    saved_.clear();
    trimmed_ = 0;
  }
  // A snapshot of this position is stored, after this many bytes of log.
  void note_saved(Position position, std::uint64_t log_bytes, Instant now);
  // The newest position to trim before. Nothing if it was returned before, or if there is none.
  std::optional<Position> take_trim(const Members& members, Instant now);
  // When to ask again if nothing happens until then.
  std::optional<Instant> next(const Members& members) const;

  // True if newcomers would load another snapshot than the stored one, and it was not just replaced.
  bool misses(Position stored, Instant now) const;

 private:
  struct Saved {
    Position position;
    std::uint64_t log_bytes;
    Instant known;
  };

  bool may_go(const Saved& saved, const Members& members, Instant now) const;

  std::deque<Saved> saved_;  // oldest first; bounded
  Position trimmed_ = 0;     // the last result
};

}  // namespace tenure

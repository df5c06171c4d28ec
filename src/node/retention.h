#pragma once

// What of a log may be trimmed. A reader that falls behind a trim loses its state, so the log keeps what somebody may
// still have to read, and no more than that:
//
//   a snapshot that was stored longer than a lease and a quarter ago   the log before it goes: every living member has
//                                                                      read one of its own beats since
//   more than kKept behind a snapshot older than kRecent,              the log before it goes, once all members have
//   or more than kKeptMax behind any                                   said in their beats that they have read it
//   more than kSlowMax                                                 the same, whatever the members have said
//
// So an idle log shrinks to its last snapshot, a busy one stays at some ten megabytes, and one with a slow member is
// bounded too. Who reads the log without being a member says nothing: kRecent and kKept are for those.

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

  // Of the pool, whenever something is asked.
  struct Members {
    Nanos lease{};                // the longest
    Position read_by_all = 0;     // what all of them have read, as far as they have said; zero if one has said nothing
    std::uint64_t log_bytes = 0;  // applied so far, ever
  };

  // The state was replaced: what was known of the log was of another history.
  void reset() {
    saved_.clear();
    trimmed_ = 0;
  }
  // A snapshot as of this position is stored, and so many bytes had been applied up to it.
  void note_saved(Position position, std::uint64_t log_bytes, Instant now);
  // The newest position before which everything may go; nothing where that was said before, or there is none.
  std::optional<Position> take_trim(const Members& members, Instant now);
  // When to ask again, though nothing has happened by then.
  std::optional<Instant> next(const Members& members) const;

  // Whether the snapshot that newcomers would load is not the one that was stored, and has not just been replaced.
  bool misses(Position stored, Instant now) const;

 private:
  struct Saved {
    Position position;
    std::uint64_t log_bytes;
    Instant known;
  };

  bool may_go(const Saved& saved, const Members& members, Instant now) const;

  std::deque<Saved> saved_;  // oldest first; bounded
  Position trimmed_ = 0;     // what was taken last
};

}  // namespace tenure

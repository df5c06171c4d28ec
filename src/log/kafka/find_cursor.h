#pragma once

// Finds the entry that a reader has applied last, and proves by its content that the reader's history is the log's.
// Also finds the entry's time (clamp.h), from which the times of the next ones follow.

#include <functional>

#include "log/kafka/clamp.h"
#include "log/kafka/history.h"
#include "log/log.h"

namespace tenure::kafka {

// An entry whose time is known.
struct KnownTime {
  Position position = 0;
  std::int64_t time_ms = 0;
};

struct FoundCursor {
  Mark mark;  // the entry's record; the birth before the first entry
  Clamp clamp;
};

// Every call blocks. `stopping` ends a long one.
class FindCursor {
 public:
  FindCursor(const History& history, Prober& prober, Mark birth, const std::function<bool()>& stopping)
      : history_(history), prober_(prober), birth_(birth), stopping_(stopping) {}

  // Fails with trimmed or lost_history, too. `known` is an entry whose time is known already.
  Result<FoundCursor> find(Cursor after, KnownTime known);

 private:
  Result<Stored> entry_at(std::int64_t offset, const Range& range);
  Result<std::int64_t> time_of(Cursor after, const Stored& stored, KnownTime known, const Range& range);
  Result<std::int64_t> count_up(Cursor after, const Stored& stored, KnownTime known, const Range& range);
  bool is_entry(const Stored& stored) const;
  Failure refuse(Errc code, const std::string& what) const;

  const History& history_;
  Prober& prober_;
  const Mark birth_;
  const std::function<bool()>& stopping_;
};

}  // namespace tenure::kafka

#pragma once

// Reads the entries after a cursor, and appends entries to the end of the log.

#include <optional>
#include <vector>

#include "log/log.h"
#include "log/sqlite/connection.h"
#include "log/sqlite/entry_run.h"

namespace tenure::sqlite {

// Both are used by the thread of their connection, which must outlive them.
class EntryReader {
 public:
  static Result<EntryReader> prepare(Connection& connection);

  // A bounded number of entries, or none if there is nothing new. Errc::trimmed, Errc::lost_history: see log.h.
  Result<std::vector<Entry>> after(const Cursor& cursor);
  // The position of the last entry, or zero.
  Result<Position> end();

 private:
  // A decoded row. The data is valid until the next step.
  struct Run {
    Position first = 0;
    std::int64_t time_ms = 0;
    std::vector<BytesView> entries;

    bool has(Position position) const { return position >= first && position - first < entries.size(); }
  };

  Result<std::optional<Run>> next();
  Status check(const Cursor& cursor, const std::optional<Run>& run);
  Result<std::vector<Entry>> collect(const Cursor& cursor, std::optional<Run> run);

  Statement from_;
  Statement first_;
  Statement last_;
};

class EntryWriter {
 public:
  static Result<EntryWriter> prepare(Connection& connection, std::int64_t time_offset_ms);

  // Call it within a transaction. Finds the end of the log, which other processes may have moved.
  Status start();
  // In the same transaction: returns the entry's position. The data must live until finish().
  Result<Position> append(BytesView data);
  // Call it last, before the commit.
  Status finish();

  // After start(): true if any other connection, of this process or another, has changed the file since the previous
  // start(). Always true after the first one.
  bool others_wrote() const { return others_wrote_; }
  // After start(): the time of all entries of the transaction.
  std::int64_t time_ms() const { return time_ms_; }

 private:
  Status note_version();

  Statement last_;
  Statement insert_;
  Statement version_;
  std::int64_t time_offset_ms_ = 0;
  std::int64_t last_position_ = 0;
  std::int64_t time_ms_ = 0;
  std::optional<std::int64_t> data_version_;
  bool others_wrote_ = true;
  RunPacker run_;  // the run of the last positions
};

}  // namespace tenure::sqlite

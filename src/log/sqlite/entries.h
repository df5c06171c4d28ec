#pragma once

// The entries of the log: reading a run of them after a cursor, and adding to their end.

#include <vector>

#include "log/log.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

// Both belong to the thread that uses their connection, which must outlive them.
class EntryReader {
 public:
  static Result<EntryReader> prepare(Connection& connection);

  // A bounded run, which is empty where there is nothing new. Errc::trimmed, Errc::lost_history: see log.h.
  Result<std::vector<Entry>> after(const Cursor& cursor);

 private:
  Status check_cursor_row(const Cursor& cursor, bool has_row);
  Result<std::vector<Entry>> collect(bool has_row);

  Statement from_;
  Statement first_;
};

class EntryWriter {
 public:
  static Result<EntryWriter> prepare(Connection& connection, std::int64_t time_offset_ms);

  // Within a transaction: looks up the end of the log, which other processes may have moved.
  Status start();
  // Within the same transaction: the position it was given.
  Result<Position> append(BytesView data);

 private:
  Statement last_;
  Statement insert_;
  std::int64_t time_offset_ms_ = 0;
  std::int64_t last_position_ = 0;
  std::int64_t time_ms_ = 0;
};

}  // namespace tenure::sqlite

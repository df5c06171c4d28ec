#include "log/sqlite/entries.h"

#include "base/clock.h"
#include "log/engine_time.h"

namespace tenure::sqlite {
namespace {

// A run handed to a reader ends at whichever comes first.
constexpr std::size_t kReadEntriesMax = 4096;
constexpr std::size_t kReadBytesMax = 1U << 20;

}  // namespace

Result<EntryReader> EntryReader::prepare(Connection& connection) {
  auto from = connection.prepare("SELECT position, time_ms, data FROM entries WHERE position >= ?1 ORDER BY position");
  if (!from) return Failure(from.error());
  auto first = connection.prepare("SELECT position FROM entries ORDER BY position LIMIT 1");
  if (!first) return Failure(first.error());
  EntryReader reader;
  reader.from_ = std::move(*from);
  reader.first_ = std::move(*first);
  return reader;
}

// The scan starts at the cursor's own entry, so that what the reader has applied is compared with what the log says
// in the same snapshot of the database that the new entries come from.
Result<std::vector<Entry>> EntryReader::after(const Cursor& cursor) {
  from_.bind(1, static_cast<std::int64_t>(cursor.position));
  Result<bool> row = from_.step();
  if (!row) return Failure(row.error());
  if (const Status known = check_cursor_row(cursor, *row); !known) {
    from_.reset();
    return Failure(known.error());
  }
  if (cursor.position > 0) row = from_.step();
  if (!row) return Failure(row.error());
  return collect(*row);
}

Status EntryReader::check_cursor_row(const Cursor& cursor, bool has_row) {
  if (cursor.position == 0) {
    // Positions are dense from 1.
    if (!has_row || from_.integer(0) == 1) return {};
    return fail(Errc::trimmed, "sqlite read", "the log starts at " + std::to_string(from_.integer(0)));
  }
  if (has_row && static_cast<Position>(from_.integer(0)) == cursor.position) {
    if (cursor.matches(from_.blob(2), from_.integer(1))) return {};
    return fail(Errc::lost_history, "sqlite read",
                "the entry at " + std::to_string(cursor.position) + " is not the one that was read before");
  }
  const Result<bool> first = first_.step();
  if (!first) return Failure(first.error());
  const bool trimmed = *first && static_cast<Position>(first_.integer(0)) > cursor.position;
  first_.reset();
  if (trimmed) return fail(Errc::trimmed, "sqlite read", "position " + std::to_string(cursor.position) + " is gone");
  return fail(Errc::lost_history, "sqlite read",
              "the entry at " + std::to_string(cursor.position) + " that was read before is missing");
}

Result<std::vector<Entry>> EntryReader::collect(bool has_row) {
  std::vector<Entry> run;
  std::size_t bytes = 0;
  while (has_row) {
    const BytesView data = from_.blob(2);
    bytes += data.size();
    if (!run.empty() && (bytes > kReadBytesMax || run.size() == kReadEntriesMax)) break;
    run.push_back({static_cast<Position>(from_.integer(0)), from_.integer(1), Bytes(data)});
    const Result<bool> next = from_.step();
    if (!next) return Failure(next.error());
    has_row = *next;
  }
  from_.reset();
  return run;
}

Result<EntryWriter> EntryWriter::prepare(Connection& connection, std::int64_t time_offset_ms) {
  auto last = connection.prepare("SELECT position, time_ms FROM entries ORDER BY position DESC LIMIT 1");
  if (!last) return Failure(last.error());
  auto insert = connection.prepare("INSERT INTO entries VALUES(?1, ?2, ?3)");
  if (!insert) return Failure(insert.error());
  EntryWriter writer;
  writer.last_ = std::move(*last);
  writer.insert_ = std::move(*insert);
  writer.time_offset_ms_ = time_offset_ms;
  return writer;
}

Status EntryWriter::start() {
  const Result<bool> row = last_.step();
  if (!row) return Failure(row.error());
  last_position_ = *row ? last_.integer(0) : 0;
  const std::int64_t last_ms = *row ? last_.integer(1) : 0;
  last_.reset();
  // One time for the whole transaction: its entries become visible together.
  time_ms_ = engine_time_ms(last_ms, time_offset_ms_, to_ms(BootClock().now().since_boot));
  return {};
}

Result<Position> EntryWriter::append(BytesView data) {
  insert_.bind(1, last_position_ + 1);
  insert_.bind(2, time_ms_);
  insert_.bind(3, data);
  if (const Status inserted = insert_.run(); !inserted) return Failure(inserted.error());
  return static_cast<Position>(++last_position_);
}

}  // namespace tenure::sqlite

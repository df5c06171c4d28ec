#include "log/sqlite/entries.h"

#include <utility>

#include "base/clock.h"
#include "log/engine_time.h"
#include "log/sqlite/handout.h"

namespace tenure::sqlite {
namespace {

// The scan starts at the row with the cursor's own entry. So the entry that the reader has applied is compared within
// the same snapshot of the database that the new entries come from.
constexpr std::string_view kFrom =
    "SELECT first, count, time_ms, data FROM runs"
    " WHERE first >= ifnull((SELECT max(first) FROM runs WHERE first <= ?1), ?1) ORDER BY first";

}  // namespace

Result<EntryReader> EntryReader::prepare(Connection& connection) {
  auto from = connection.prepare(kFrom);
  if (!from) return Failure(from.error());
  auto first = connection.prepare("SELECT first FROM runs ORDER BY first LIMIT 1");
  if (!first) return Failure(first.error());
  auto last = connection.prepare("SELECT first + count - 1 FROM runs ORDER BY first DESC LIMIT 1");
  if (!last) return Failure(last.error());
  EntryReader reader;
  reader.last_ = std::move(*last);
  reader.from_ = std::move(*from);
  reader.first_ = std::move(*first);
  return reader;
}

Result<std::vector<Entry>> EntryReader::after(const Cursor& cursor) {
  from_.bind(1, static_cast<std::int64_t>(cursor.position));
  const auto read = [&]() -> Result<std::vector<Entry>> {
    Result<std::optional<Run>> run = next();
    if (!run) return Failure(run.error());
    if (const Status known = check(cursor, *run); !known) return Failure(known.error());
    return collect(cursor, *std::move(run));
  };
  Result<std::vector<Entry>> entries = read();
  from_.reset();
  return entries;
}

Result<Position> EntryReader::end() {
  const Result<bool> row = last_.step();
  const Position end = row && *row ? static_cast<Position>(last_.integer(0)) : 0;
  last_.reset();
  if (!row) return Failure(row.error());
  return end;
}

Result<std::optional<EntryReader::Run>> EntryReader::next() {
  const Result<bool> row = from_.step();
  if (!row) return Failure(row.error());
  if (!*row) return std::optional<Run>();
  auto entries = unpack_run(from_.blob(3), from_.integer(1));
  if (!entries) {
    return fail(Errc::corrupt, "sqlite read",
                "the entries at " + std::to_string(from_.integer(0)) + " are damaged: restore a backup");
  }
  return std::optional(Run{static_cast<Position>(from_.integer(0)), from_.integer(2), *std::move(entries)});
}

Status EntryReader::check(const Cursor& cursor, const std::optional<Run>& run) {
  if (cursor.position == 0) {
    // Positions are dense from 1.
    if (!run || run->first == 1) return {};
    return fail(Errc::trimmed, "sqlite read", "the log starts at " + std::to_string(run->first));
  }
  if (run && run->has(cursor.position)) {
    if (cursor.matches(run->entries[cursor.position - run->first], run->time_ms)) return {};
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

Result<std::vector<Entry>> EntryReader::collect(const Cursor& cursor, std::optional<Run> run) {
  Handout handout;
  while (run) {
    std::size_t i = cursor.position < run->first ? 0 : cursor.position + 1 - run->first;
    for (; i < run->entries.size(); ++i) {
      if (!handout.add(run->first + i, run->time_ms, run->entries[i])) return handout.take();
    }
    Result<std::optional<Run>> another = next();
    if (!another) return Failure(another.error());
    run = *std::move(another);
  }
  return handout.take();
}

Result<EntryWriter> EntryWriter::prepare(Connection& connection, std::int64_t time_offset_ms) {
  auto last = connection.prepare("SELECT first + count - 1, time_ms FROM runs ORDER BY first DESC LIMIT 1");
  if (!last) return Failure(last.error());
  auto insert = connection.prepare("INSERT INTO runs VALUES(?1, ?2, ?3, ?4)");
  if (!insert) return Failure(insert.error());
  auto version = connection.prepare("PRAGMA data_version");
  if (!version) return Failure(version.error());
  EntryWriter writer;
  writer.last_ = std::move(*last);
  writer.insert_ = std::move(*insert);
  writer.version_ = std::move(*version);
  writer.time_offset_ms_ = time_offset_ms;
  return writer;
}

Status EntryWriter::start() {
  run_.clear();  // left over from a failed transaction
  const Result<bool> row = last_.step();
  if (!row) return Failure(row.error());
  last_position_ = *row ? last_.integer(0) : 0;
  const std::int64_t last_ms = *row ? last_.integer(1) : 0;
  last_.reset();
  if (const Status noted = note_version(); !noted) return noted;
  // One time for the whole transaction: its entries become visible together.
  time_ms_ = engine_time_ms(last_ms, time_offset_ms_, to_ms(BootClock().now().since_boot));
  return {};
}

// SQLite counts the commits of all other connections.
Status EntryWriter::note_version() {
  const Result<bool> row = version_.step();
  if (!row) return Failure(row.error());
  const std::optional<std::int64_t> before = std::exchange(data_version_, version_.integer(0));
  others_wrote_ = before != data_version_;
  version_.reset();
  return {};
}

Result<Position> EntryWriter::append(BytesView data) {
  run_.add(data);
  ++last_position_;
  if (run_.full()) {
    if (const Status written = finish(); !written) return Failure(written.error());
  }
  return static_cast<Position>(last_position_);
}

Status EntryWriter::finish() {
  const std::int64_t count = run_.count();
  if (count == 0) return {};
  insert_.bind(1, last_position_ - count + 1);
  insert_.bind(2, count);
  insert_.bind(3, time_ms_);
  insert_.bind(4, run_.pack());
  return insert_.run();
}

}  // namespace tenure::sqlite

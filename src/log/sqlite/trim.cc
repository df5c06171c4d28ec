#include "log/sqlite/trim.h"

#include <algorithm>

#include "log/sqlite/entry_run.h"

namespace tenure::sqlite {
namespace {

// A step ends at the first of these limits, after some milliseconds of work.
constexpr int kTrimRowsMax = 1024;
constexpr std::int64_t kTrimBytesMax = 4LL << 20;

constexpr std::string_view kSnapshotPosition = "SELECT max(position) FROM snapshots WHERE chunks IS NOT NULL";

struct Cut {
  std::int64_t before = 0;  // rows that end before this position go in this step
  bool finished = false;
};

// Walks from the front; length() does not read the data itself.
Result<Cut> find_cut(Connection& connection, std::int64_t end) {
  auto walk = connection.prepare(
      "SELECT first, length(data) FROM runs WHERE first < ?1 AND first + count <= ?1 ORDER BY first");
  if (!walk) return Failure(walk.error());
  walk->bind(1, end);
  std::int64_t bytes = 0;
  for (int rows = 0;; ++rows) {
    const Result<bool> row = walk->step();
    if (!row) return Failure(row.error());
    if (!*row) return Cut{end, true};
    if (rows == kTrimRowsMax || bytes >= kTrimBytesMax) return Cut{walk->integer(0), false};
    bytes += walk->integer(1);
  }
}

Status drop_rows(Connection& connection, std::int64_t before) {
  auto drop = connection.prepare("DELETE FROM runs WHERE first < ?1 AND first + count <= ?1");
  if (!drop) return Failure(drop.error());
  drop->bind(1, before);
  return drop->run();
}

// If the position is in the middle of a row, the row is rewritten without the entries before it.
Status split_row(Connection& connection, std::int64_t before) {
  auto row = connection.prepare("SELECT first, count, data FROM runs WHERE first < ?1 ORDER BY first DESC LIMIT 1");
  if (!row) return Failure(row.error());
  row->bind(1, before);
  const Result<bool> found = row->step();
  if (!found) return Failure(found.error());
  if (!*found) return {};
  const std::int64_t first = row->integer(0);
  const std::int64_t count = row->integer(1);
  const auto entries = unpack_run(row->blob(2), count);
  if (!entries)
    return fail(Errc::corrupt, "sqlite trim", connection.path() + ": entries are damaged: restore a backup");
  RunPacker rest;
  for (auto i = static_cast<std::size_t>(before - first); i < entries->size(); ++i) rest.add((*entries)[i]);
  const std::int64_t left = rest.count();
  const BytesView data = rest.pack();
  row->reset();
  auto rewrite = connection.prepare("UPDATE runs SET first=?2, count=?3, data=?4 WHERE first=?1");
  if (!rewrite) return Failure(rewrite.error());
  rewrite->bind(1, first);
  rewrite->bind(2, before);
  rewrite->bind(3, left);
  rewrite->bind(4, data);
  return rewrite->run();
}

}  // namespace

// The entries are gone. Space that cannot be freed now is freed with the next trim.
Result<bool> Trim::step(Connection& connection) {
  if (dropped_) {
    const Result<bool> shrunk = vacuum_.step(connection);
    return !shrunk || *shrunk;
  }
  const Result<bool> finished = drop(connection);
  if (!finished) return finished;
  dropped_ = *finished;
  return false;
}

Result<bool> Trim::drop(Connection& connection) const {
  Cut cut;
  const Status trimmed = transact(connection, [&]() -> Status {
    const auto snapshot = connection.query_integer(kSnapshotPosition);
    if (!snapshot) return Failure(snapshot.error());
    // Without a snapshot the result is zero, and nothing is removed.
    const auto end = static_cast<std::int64_t>(std::min(before_, static_cast<Position>(*snapshot)));
    auto found = find_cut(connection, end);
    if (!found) return Failure(found.error());
    cut = *found;
    if (Status dropped = drop_rows(connection, cut.before); !dropped) return dropped;
    return cut.finished ? split_row(connection, cut.before) : Status();
  });
  if (!trimmed) return Failure(trimmed.error());
  return cut.finished;
}

}  // namespace tenure::sqlite

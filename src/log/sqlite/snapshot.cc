#include "log/sqlite/snapshot.h"

#include "base/entropy.h"

namespace tenure::sqlite {
namespace {

// Deletes chunks of dropped snapshots, a few at a time. They may be large, and are freed page by page.
constexpr const char* kSweep =
    "DELETE FROM snapshot_chunks WHERE rowid IN (SELECT rowid FROM snapshot_chunks"
    " WHERE snapshot NOT IN (SELECT id FROM snapshots) LIMIT 4)";

// Prepares, binds the integers in order, and runs a statement without rows.
template <class... Integers>
Status run(Connection& connection, std::string_view sql, Integers... values) {
  auto statement = connection.prepare(sql);
  if (!statement) return Failure(statement.error());
  int index = 0;
  (statement->bind(++index, static_cast<std::int64_t>(values)), ...);
  return statement->run();
}

Result<bool> sweep(Connection& connection) {
  const Status swept = transact(connection, [&] { return connection.exec(kSweep); });
  if (!swept) return Failure(swept.error());
  return sqlite3_changes(connection.raw()) == 0;
}

Status read_chunks(Connection& connection, std::int64_t id, Snapshot& snapshot) {
  auto chunks = connection.prepare("SELECT data FROM snapshot_chunks WHERE snapshot=?1 ORDER BY number");
  if (!chunks) return Failure(chunks.error());
  chunks->bind(1, id);
  for (;;) {
    const Result<bool> row = chunks->step();
    if (!row) return Failure(row.error());
    if (!*row) return {};
    snapshot.chunks.emplace_back(chunks->blob(0));
  }
}

Status read_newest(Connection& connection, Snapshot& snapshot) {
  auto newest = connection.prepare(
      "SELECT id, position, hash, chunks FROM snapshots WHERE chunks IS NOT NULL ORDER BY position DESC LIMIT 1");
  if (!newest) return Failure(newest.error());
  const Result<bool> row = newest->step();
  if (!row) return Failure(row.error());
  if (!*row) return {};
  snapshot.cursor = {static_cast<Position>(newest->integer(1)), static_cast<std::uint64_t>(newest->integer(2))};
  if (Status read = read_chunks(connection, newest->integer(0), snapshot); !read) return read;
  if (snapshot.chunks.size() == static_cast<std::size_t>(newest->integer(3))) return {};
  return fail(Errc::corrupt, "sqlite snapshot", connection.path() + ": chunks are missing: restore a backup");
}

}  // namespace

Result<bool> StoreSnapshot::step(Connection& connection) {
  if (phase_ == Phase::sweep) {
    // The snapshot is stored. The next one sweeps the chunks that are left.
    const Result<bool> swept = sweep(connection);
    return !swept || *swept;
  }
  const auto late = superseded(connection);
  if (!late) return Failure(late.error());
  if (*late) {
    phase_ = Phase::sweep;
    return false;
  }
  const Status done = transact(connection, [&]() -> Status {
    if (phase_ == Phase::begin) return begin(connection);
    if (Status wrote = write(connection); !wrote) return wrote;
    return written_ == snapshot_.chunks.size() ? publish(connection) : Status();
  });
  if (!done) return Failure(done.error());
  const bool stored = phase_ == Phase::write && written_ == snapshot_.chunks.size();
  phase_ = stored ? Phase::sweep : Phase::write;
  return false;
}

// The id is random, so it never equals that of a snapshot that was dropped while its writer was still writing.
Status StoreSnapshot::begin(Connection& connection) {
  id_ = static_cast<std::int64_t>(SystemEntropy().id() >> 1);
  return run(connection, "INSERT INTO snapshots VALUES(?1, ?2, ?3, NULL)", id_, snapshot_.cursor.position,
             snapshot_.cursor.hash);
}

// Writes one chunk, so that appends do not wait for the whole snapshot.
Status StoreSnapshot::write(Connection& connection) {
  if (written_ == snapshot_.chunks.size()) return {};
  auto insert = connection.prepare("INSERT INTO snapshot_chunks VALUES(?1, ?2, ?3)");
  if (!insert) return Failure(insert.error());
  insert->bind(1, id_);
  insert->bind(2, static_cast<std::int64_t>(written_));
  insert->bind(3, BytesView(snapshot_.chunks[written_]));
  if (Status inserted = insert->run(); !inserted) return inserted;
  ++written_;
  return {};
}

Status StoreSnapshot::publish(Connection& connection) {
  Status completed = run(connection, "UPDATE snapshots SET chunks=?2 WHERE id=?1", id_, snapshot_.chunks.size());
  if (!completed) return completed;
  return run(connection, "DELETE FROM snapshots WHERE position <= ?2 AND id <> ?1", id_, snapshot_.cursor.position);
}

// True if a newer snapshot is stored, or has dropped ours. Then there is nothing left to do, which counts as success.
Result<bool> StoreSnapshot::superseded(Connection& connection) const {
  auto check = connection.prepare(
      "SELECT EXISTS(SELECT 1 FROM snapshots WHERE position > ?2 AND chunks IS NOT NULL),"
      " EXISTS(SELECT 1 FROM snapshots WHERE id=?1)");
  if (!check) return Failure(check.error());
  check->bind(1, id_);
  check->bind(2, static_cast<std::int64_t>(snapshot_.cursor.position));
  const Result<bool> row = check->step();
  if (!row) return Failure(row.error());
  const bool newer = check->integer(0) != 0;
  const bool struck = phase_ == Phase::write && check->integer(1) == 0;
  return newer || struck;
}

Result<Snapshot> load_newest_snapshot(Connection& connection) {
  Snapshot snapshot;
  if (const Status begun = connection.exec("BEGIN"); !begun) return Failure(begun.error());
  const Status read = read_newest(connection, snapshot);
  const Status ended = connection.exec("COMMIT");
  if (!read) return Failure(read.error());
  if (!ended) return Failure(ended.error());
  return snapshot;
}

}  // namespace tenure::sqlite

#include "log/sqlite/schema.h"

namespace tenure::sqlite {
namespace {

// The WAL takes whole pages, each with two writes. Twice SQLite's own size halves them where many entries share a
// commit, and costs nothing that can be measured where an entry comes alone; twice that gains little more.
constexpr const char* kPageSize = "PRAGMA page_size=8192";

constexpr const char* kTables =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE entries(position INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, data BLOB NOT NULL);"
    "CREATE TABLE snapshots(id INTEGER PRIMARY KEY, position INTEGER NOT NULL, hash INTEGER NOT NULL, chunks INTEGER);"
    "CREATE TABLE snapshot_chunks(snapshot INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL,"
    " UNIQUE(snapshot, number));";

Result<bool> is_empty(Connection& connection) {
  const auto tables = connection.query_integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return Failure(tables.error());
  return *tables == 0;
}

Status create(Connection& connection, const std::string& pool) {
  return transact(connection, [&]() -> Status {
    if (Status made = connection.exec(kTables); !made) return made;
    auto name = connection.prepare("INSERT INTO meta VALUES('pool', ?1)");
    if (!name) return Failure(name.error());
    name->bind_text(1, pool);
    if (Status named = name->run(); !named) return named;
    const std::string marks = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                              "; PRAGMA user_version=" + std::to_string(kSchemaVersion);
    return connection.exec(marks.c_str());
  });
}

// A writer that another process starts to wait for must not find a rollback journal in use, so the mode is set once,
// before there is anything to write. It stays with the file.
Status use_wal(Connection& connection) {
  auto mode = connection.prepare("PRAGMA journal_mode=WAL");
  if (!mode) return Failure(mode.error());
  const Result<bool> row = mode->step();
  if (!row) return Failure(row.error());
  if (*row && mode->text(0) == "wal") return {};
  return fail(Errc::refused, "sqlite open",
              connection.path() + ": this file system cannot share a write-ahead log: use a local disk");
}

Status check_pool(Connection& connection, const std::string& pool) {
  auto name = connection.prepare("SELECT value FROM meta WHERE name='pool'");
  if (!name) return Failure(name.error());
  const Result<bool> row = name->step();
  if (!row) return Failure(row.error());
  const std::string found = *row ? name->text(0) : "";
  if (found == pool) return {};
  return fail(Errc::refused, "sqlite open",
              connection.path() + ": the file belongs to pool '" + found + "', not '" + pool +
                  "': name that pool, or another file");
}

}  // namespace

Status create_or_check_schema(Connection& connection, const std::string& pool) {
  const auto empty = is_empty(connection);
  if (!empty) return Failure(empty.error());
  if (connection.read_only()) {
    return fail(
        Errc::refused, "sqlite open",
        connection.path() + ": the file is not writable for this user: change its permissions or open read-only");
  }
  if (!*empty) {
    if (Status ours = check_schema(connection, pool); !ours) return ours;
    return use_wal(connection);
  }
  if (Status sized = connection.exec(kPageSize); !sized) return sized;
  if (Status wal = use_wal(connection); !wal) return wal;
  return create(connection, pool);
}

Status check_schema(Connection& connection, const std::string& pool) {
  const auto application = connection.query_integer("PRAGMA application_id");
  if (!application) return Failure(application.error());
  const auto version = connection.query_integer("PRAGMA user_version");
  if (!version) return Failure(version.error());
  if (*application != kApplicationId) {
    return fail(Errc::refused, "sqlite open",
                connection.path() + ": this is a database of another program: name another file");
  }
  if (*version > kSchemaVersion) {
    return fail(Errc::version, "sqlite open",
                connection.path() + ": written by a newer version (format " + std::to_string(*version) +
                    ", this one speaks " + std::to_string(kSchemaVersion) + "): upgrade this program");
  }
  return check_pool(connection, pool);
}

}  // namespace tenure::sqlite

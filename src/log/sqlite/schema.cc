#include "log/sqlite/schema.h"

#include <algorithm>

namespace tenure::sqlite {
namespace {

// The WAL takes whole pages, each with two writes. Twice SQLite's page size halves the writes if many entries share a
// commit, and has no measurable cost for single entries. Four times gains little more.
//
// Pages that a trim has freed are returned to the disk in steps (vacuum.h).
constexpr const char* kPageSize = "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL";

constexpr const char* kTables =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE runs(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time_ms INTEGER NOT NULL,"
    " data BLOB NOT NULL);"
    "CREATE TABLE snapshots(id INTEGER PRIMARY KEY, position INTEGER NOT NULL, hash INTEGER NOT NULL, chunks INTEGER);"
    "CREATE TABLE snapshot_chunks(snapshot INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL,"
    " UNIQUE(snapshot, number));";

Result<bool> is_empty(Connection& connection) {
  const auto tables = connection.query_integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return Failure(tables.error());
  return *tables == 0;
}

Status create(Connection& connection, const LogOptions& options) {
  return transact(connection, [&]() -> Status {
    if (Status made = connection.exec(kTables); !made) return made;
    auto name = connection.prepare("INSERT INTO meta VALUES('pool', ?1)");
    if (!name) return Failure(name.error());
    name->bind_text(1, options.pool);
    if (Status named = name->run(); !named) return named;
    if (options.shard.count > 1) {
      const std::string which = "INSERT INTO meta VALUES('shards', " + std::to_string(options.shard.count) +
                                "), ('shard', " + std::to_string(options.shard.index) + ")";
      if (Status noted = connection.exec(which.c_str()); !noted) return noted;
    }
    const std::string marks = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                              "; PRAGMA user_version=" + std::to_string(kSchemaVersion);
    return connection.exec(marks.c_str());
  });
}

// A writer that another process waits for must not find a rollback journal in use. So the mode is set once, before the
// first write. It stays with the file.
Status use_wal(Connection& connection) {
  auto mode = connection.prepare("PRAGMA journal_mode=WAL");
  if (!mode) return Failure(mode.error());
  const Result<bool> row = mode->step();
  if (!row) return Failure(row.error());
  if (*row && mode->text(0) == "wal") return {};
  return fail(Errc::refused, "sqlite open",
              connection.path() + ": this file system cannot share a write-ahead log: use a local disk");
}

Result<std::string> owner_of(Connection& connection) {
  auto name = connection.prepare("SELECT value FROM meta WHERE name='pool'");
  if (!name) return Failure(name.error());
  const Result<bool> row = name->step();
  if (!row) return Failure(row.error());
  return *row ? name->text(0) : "";
}

}  // namespace

Result<std::optional<std::string>> pool_in(Connection& connection) {
  const auto application = connection.query_integer("PRAGMA application_id");
  if (!application) return Failure(application.error());
  const auto version = connection.query_integer("PRAGMA user_version");
  if (!version) return Failure(version.error());
  if (*application != kApplicationId || *version != kSchemaVersion) return std::optional<std::string>();
  Result<std::string> pool = owner_of(connection);
  if (!pool) return Failure(pool.error());
  return std::optional<std::string>(*std::move(pool));
}

Failure not_writable(const std::string& path) {
  return fail(
      Errc::refused, "sqlite open",
      path + ": the file is not writable for this user: let its owner add group=NAME to the URL, or open read-only");
}

Status check_owner(const std::string& path, const std::string& pool, std::uint32_t shards, const LogOptions& options) {
  if (pool != options.pool) {
    return fail(Errc::refused, "sqlite open",
                path + ": the file belongs to pool '" + pool + "', not '" + options.pool +
                    "': name that pool, or another file");
  }
  if (options.shard.count == 0 || options.shard.count == shards) return {};
  return fail(Errc::refused, "sqlite open", path + ": " + other_count(shards, options.shard.count));
}

Result<std::uint32_t> create_or_check_schema(Connection& connection, const LogOptions& options) {
  const auto empty = is_empty(connection);
  if (!empty) return Failure(empty.error());
  if (connection.read_only()) return not_writable(connection.path());
  if (!*empty) {
    Result<std::uint32_t> shards = check_schema(connection, options);
    if (!shards) return shards;
    if (Status wal = use_wal(connection); !wal) return Failure(wal.error());
    return shards;
  }
  if (Status sized = connection.exec(kPageSize); !sized) return Failure(sized.error());
  if (Status wal = use_wal(connection); !wal) return Failure(wal.error());
  if (Status created = create(connection, options); !created) return Failure(created.error());
  return std::max(1U, options.shard.count);
}

Result<std::uint32_t> check_schema(Connection& connection, const LogOptions& options) {
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
  if (*version < kSchemaVersion) {
    return fail(Errc::version, "sqlite open",
                connection.path() + ": written by a version before the first release (format " +
                    std::to_string(*version) + ", this one speaks " + std::to_string(kSchemaVersion) +
                    "): finish its jobs with that one, or name another file");
  }
  const Result<std::string> pool = owner_of(connection);
  if (!pool) return Failure(pool.error());
  const auto counted = connection.query_integer("SELECT ifnull(max(value), 1) FROM meta WHERE name='shards'");
  if (!counted) return Failure(counted.error());
  const auto index = connection.query_integer("SELECT ifnull(max(value), 0) FROM meta WHERE name='shard'");
  if (!index) return Failure(index.error());
  if (*index != options.shard.index) {
    return fail(
        Errc::refused, "sqlite open",
        connection.path() + ": the file is that of shard " + std::to_string(*index) + ": it was renamed or copied");
  }
  const auto shards = static_cast<std::uint32_t>(std::clamp<std::int64_t>(*counted, 1, kShardsMax));
  if (Status ours = check_owner(connection.path(), *pool, shards, options); !ours) return Failure(ours.error());
  return shards;
}

}  // namespace tenure::sqlite

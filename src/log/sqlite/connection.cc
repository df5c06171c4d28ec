#include "log/sqlite/connection.h"

#include "base/assert.h"
#include "log/sqlite/errors.h"
#include "log/sqlite/wal_gather.h"

namespace tenure::sqlite {
namespace {

// Checkpoints run in checkpointer.h. The WAL file keeps up to this size, because overwriting is cheaper to sync than
// extending. Space beyond it, for example after a long read, is freed.
constexpr const char* kSettings =
    "PRAGMA wal_autocheckpoint=0;"
    "PRAGMA journal_size_limit=67108864;";

}  // namespace

void Statement::bind(int index, std::int64_t value) {
  ASSERT(sqlite3_bind_int64(statement_.get(), index, value) == SQLITE_OK);
}

void Statement::bind(int index, BytesView blob) {
  if (blob.empty()) {  // its pointer may be null, which would bind NULL
    ASSERT(sqlite3_bind_zeroblob(statement_.get(), index, 0) == SQLITE_OK);
  } else {
    ASSERT(sqlite3_bind_blob64(statement_.get(), index, blob.data(), blob.size(), SQLITE_STATIC) == SQLITE_OK);
  }
}

void Statement::bind_text(int index, std::string_view text) {
  ASSERT(sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8) ==
         SQLITE_OK);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  Error error = last_error(sqlite3_db_handle(statement_.get()), "statement", *path_);
  reset();
  return Failure(std::move(error));
}

Status Statement::run() {
  const Result<bool> row = step();
  if (!row) return Failure(row.error());
  if (*row) reset();
  return {};
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

BytesView Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {static_cast<const char*>(data), size};
}

std::string Statement::text(int column) const { return std::string(blob(column)); }

Result<Connection> Connection::open(const std::string& path, Mode mode) {
  // NOMUTEX: only one thread at a time uses a connection.
  const int create = mode == Mode::create ? SQLITE_OPEN_CREATE : 0;
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | create, gathering_vfs());
  Connection connection(db, path);
  if (code != SQLITE_OK) return Failure(last_error(db, "open", path));
  sqlite3_extended_result_codes(db, 0);
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  int persist = 1;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
  if (const Status set = connection.exec(kSettings); !set) return Failure(set.error());
  return connection;
}

Result<Statement> Connection::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  if (code != SQLITE_OK) return Failure(last_error(db_.get(), "prepare", path()));
  return Statement(statement, path_.get());
}

Status Connection::exec(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Failure(last_error(db_.get(), "statement", path()));
}

Result<std::int64_t> Connection::query_integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return Failure(statement.error());
  const Result<bool> row = statement->step();
  if (!row) return Failure(row.error());
  return *row ? statement->integer(0) : 0;
}

Status Connection::set_synchronous(int level) {
  constexpr int kFull = 2;
  const std::string pragma = "PRAGMA synchronous=" + std::to_string(level);
  if (Status set = exec(pragma.c_str()); !set) return set;
  gathers_ = level >= kFull && syncs_behind_frames(db_.get());
  return {};
}

Status Connection::begin() {
  if (!begin_.statement_) {
    auto begin = prepare("BEGIN IMMEDIATE");
    auto commit = prepare("COMMIT");
    auto rollback = prepare("ROLLBACK");
    if (!begin || !commit || !rollback) return Failure(last_error(db_.get(), "prepare", path()));
    begin_ = std::move(*begin);
    commit_ = std::move(*commit);
    rollback_ = std::move(*rollback);
  }
  Status begun = begin_.run();
  if (begun && gathers_) begin_gathering();
  return begun;
}

Status Connection::commit() {
  const int code = sqlite3_step(commit_.statement_.get());
  if (code == SQLITE_DONE) {
    end_gathering();
    commit_.reset();
    return {};
  }
  Error error = commit_error(db_.get(), "commit", path());
  commit_.reset();
  rollback();
  return Failure(std::move(error));
}

void Connection::rollback() {
  drop_gathered();
  // Some failures have already ended the transaction. If the rollback fails, nothing was committed either, and the next
  // begin() reports the problem.
  if (sqlite3_get_autocommit(db_.get()) == 0) (void)rollback_.run();
}

}  // namespace tenure::sqlite

#pragma once

// RAII over SQLite's C API: a connection and its prepared statements.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tenure::sqlite {

// Used by one thread at a time, like its connection, which must outlive it. An empty Statement can only be assigned to.
class Statement {
 public:
  Statement() = default;

  void bind(int index, std::int64_t value);
  void bind(int index, BytesView blob);  // not copied: it must live until reset
  void bind_text(int index, std::string_view text);

  // True when there is a row. After false or an error the statement has been reset.
  Result<bool> step();
  // For a statement that yields no rows.
  Status run();
  // Ends the statement, and its read transaction if it has one.
  void reset();

  std::int64_t integer(int column) const;
  BytesView blob(int column) const;  // valid until the next step or reset
  std::string text(int column) const;

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Statement(sqlite3_stmt* statement, const std::string* path) : statement_(statement), path_(path) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const std::string* path_ = nullptr;  // for messages; the connection's
};

// Used by one thread at a time. It may move to another thread between uses.
class Connection {
 public:
  enum class Mode : std::uint8_t { existing, create };
  // How long SQLite itself retries a lock. Our writers queue elsewhere (write_turn.h), so this applies only to a
  // foreign program, or while another process recovers the WAL or closes it for the last time.
  static constexpr int kBusyTimeoutMs = 1000;

  // Opens the file and applies the settings of all our connections. Opens a file that cannot be written read-only.
  // SQLite must not delete the WAL when it closes, because the WAL may then belong to a new database with the same
  // name.
  static Result<Connection> open(const std::string& path, Mode mode);

  Result<Statement> prepare(std::string_view sql);
  Status exec(const char* sql);
  // The first column of the first row, as an integer.
  Result<std::int64_t> query_integer(std::string_view sql);

  // PRAGMA synchronous, in SQLite's own values. The frames of a synced transaction are written together.
  Status set_synchronous(int level);

  // BEGIN IMMEDIATE … COMMIT. A failed commit has been rolled back; commit_error tells whether it may have taken
  // effect.
  Status begin();
  Status commit();
  void rollback();

  bool read_only() const { return sqlite3_db_readonly(db_.get(), "main") == 1; }
  const std::string& path() const { return *path_; }
  sqlite3* raw() const { return db_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  Connection(sqlite3* db, const std::string& path) : path_(std::make_unique<std::string>(path)), db_(db) {}

  std::unique_ptr<const std::string> path_;  // at a fixed address: statements point to it
  std::unique_ptr<sqlite3, Close> db_;
  bool gathers_ = false;
  Statement begin_;  // after db_: finalized before it is closed
  Statement commit_;
  Statement rollback_;
};

// Runs `body`, which returns a Status, in a transaction: committed if it succeeds, rolled back if not.
template <class Body>
Status transact(Connection& connection, Body body) {
  if (const Status begun = connection.begin(); !begun) return begun;
  if (const Status done = body(); !done) {
    connection.rollback();
    return done;
  }
  return connection.commit();
}

}  // namespace tenure::sqlite

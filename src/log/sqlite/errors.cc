#include "log/sqlite/errors.h"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

namespace tenure::sqlite {
namespace {

struct Meaning {
  Errc code;
  std::string_view advice;
};

constexpr Meaning kNoRoom{Errc::full, "free some disk space; nothing was written"};
constexpr Meaning kTooLarge{Errc::full, "raise the limit for the size of a file (ulimit -f); nothing was written"};

// SQLite reports only ENOSPC as SQLITE_FULL. For a pool a quota or a size limit is the same.
const Meaning* lack_of_room(int error_number) {
  if (error_number == EFBIG) return &kTooLarge;
  return error_number == ENOSPC || error_number == EDQUOT ? &kNoRoom : nullptr;
}

// The errno of a failed write. SQLite reports it for a statement. For a COMMIT it keeps it only with the WAL's file.
int errno_of(sqlite3* db) {
  int error_number = sqlite3_system_errno(db);
  if (sqlite3_extended_errcode(db) != SQLITE_IOERR_WRITE) return error_number;
  sqlite3_file* wal = nullptr;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&wal));
  if (wal != nullptr && wal->pMethods != nullptr) {
    wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &error_number);
  }
  return error_number;
}

Meaning meaning_of(sqlite3* db) {
  const int code = sqlite3_errcode(db);
  const Meaning* const lack = code == SQLITE_IOERR ? lack_of_room(errno_of(db)) : nullptr;
  if (lack != nullptr) return *lack;
  switch (code) {
    case SQLITE_FULL: return kNoRoom;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {Errc::unavailable, "another program holds the database's lock; it is tried again"};
    case SQLITE_NOTADB:
      return {Errc::corrupt, "the file is not a SQLite database: name another path, or restore a backup"};
    case SQLITE_CORRUPT: return {Errc::corrupt, "the database is damaged: stop the pool and restore a backup"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return {Errc::refused, "make the file and its directory writable for this user"};
    case SQLITE_CANTOPEN: return {Errc::refused, "check that the directory exists and that this user can write to it"};
    case SQLITE_TOOBIG: return {Errc::invalid, "the entry is too large"};
    case SQLITE_NOMEM: return {Errc::unavailable, "out of memory"};
    default: return {Errc::unavailable, "check the disk and the system log"};
  }
}

Error compose(Errc code, std::string_view operation, const std::string& path, std::string_view what,
              std::string_view advice) {
  std::string context = path;
  context.append(": ").append(what).append("; ").append(advice);
  return {code, std::string("sqlite ").append(operation), std::move(context)};
}

}  // namespace

Error last_error(sqlite3* db, std::string_view operation, const std::string& path) {
  const Meaning meaning = meaning_of(db);
  return compose(meaning.code, operation, path, sqlite3_errmsg(db), meaning.advice);
}

// A commit appends the transaction's pages to the WAL, the page with the commit mark last, and syncs. If a write
// failed, the mark is incomplete, and nothing was committed. If the sync failed, the mark may or may not be on the
// disk; only a crash would show.
Error commit_error(sqlite3* db, std::string_view operation, const std::string& path) {
  Error error = last_error(db, operation, path);
  const int extended = sqlite3_extended_errcode(db);
  const bool certain = extended == SQLITE_FULL || extended == SQLITE_IOERR_WRITE;
  if (!certain) error.code = Errc::unknown;
  return error;
}

Error system_error(int error_number, std::string_view operation, const std::string& path) {
  const std::string what = std::system_category().message(error_number);
  switch (error_number) {
    case EACCES:
    case EPERM:
    case EROFS:
      return compose(Errc::refused, operation, path, what, "make the file and its directory writable for this user");
    case ENOENT:
    case ENOTDIR: return compose(Errc::refused, operation, path, what, "create the directory first");
    case EISDIR: return compose(Errc::refused, operation, path, what, "name a file in this directory");
    default: break;
  }
  const Meaning* const lack = lack_of_room(error_number);
  if (lack != nullptr) return compose(lack->code, operation, path, what, lack->advice);
  return compose(Errc::unavailable, operation, path, what, "check the disk and the system's limits");
}

}  // namespace tenure::sqlite

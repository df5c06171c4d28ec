#pragma once

// Proves that a newcomer at the path would get the files that this process has open: the database, its WAL and its
// shared memory. Checked before each commit and each read (log.h, promise 7), so that the members of removed files do
// not keep each other alive. A check costs three stats, some microseconds.

#include <memory>
#include <string>

#include "log/sqlite/connection.h"
#include "log/sqlite/file_id.h"
#include "log/sqlite/shm_watch.h"

namespace tenure::sqlite {

enum class FilesState : std::uint8_t { whole, no_database, emptied, no_wal, no_shm };

// Thread-safe.
class Proof {
 public:
  // The files that the connection has open. It must have read from the database.
  static Proof of(const std::string& path, const Connection& connection);

  // Requires an open connection.
  FilesState look() const;
  // Errc::lost_history unless all files are unchanged.
  Status check() const;
  // True if another connection of the process has the same files open.
  bool holds_for(const Connection& connection) const;

  // True if the WAL was removed but the database is still in its place, and the connection has the whole WAL open. A
  // checkpoint then saves its content, as long as nobody else writes.
  bool can_save_wal(const Connection& connection) const;

  const FileId& database() const { return database_; }
  const FileId& wal() const { return wal_; }

 private:
  bool wal_is_whole() const;

  std::string path_;
  std::string wal_path_;
  std::string shm_path_;
  FileId database_;
  FileId wal_;
  std::shared_ptr<const Shm> shm_;
};

}  // namespace tenure::sqlite

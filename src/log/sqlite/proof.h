#pragma once

// Proves that a newcomer who opens the path would be given the files that this process has open: the database, its WAL
// and its shared memory. Asked before each commit and each read (log.h, promise 7), so that members of files that were
// taken away do not go on confirming each other. It costs three stats, some microseconds.

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
  // Of what the connection, which has read from the database, has open.
  static Proof of(const std::string& path, const Connection& connection);

  // To be asked by one who has a connection open.
  FilesState look() const;
  // Errc::lost_history unless all is as it was.
  Status check() const;
  // Whether another connection of the process has the same files open.
  bool holds_for(const Connection& connection) const;

  // Whether the WAL was taken away from a database that is in its place, and the connection has all of it. A checkpoint
  // then saves what it has, as long as nobody else writes.
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

#pragma once

// The shared memory of a database (`PATH-shm`, https://sqlite.org/walformat.html), as this process has mapped it.
// SQLite opens and maps it once for all connections of a process, and never checks whether the path still leads to it.
// This class remembers which file it was, and keeps the process alive if the file is truncated (bus_guard.h).

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "log/sqlite/bus_guard.h"
#include "log/sqlite/file_id.h"

namespace tenure::sqlite {

// Thread-safe. Lives while a connection has the memory mapped, or somebody holds a pointer.
class Shm {
 public:
  explicit Shm(FileId id) : id_(id) {}

  const FileId& id() const { return id_; }
  // The length that the file needs for the mapped memory.
  std::int64_t bytes() const { return bytes_.load(std::memory_order_acquire); }
  // True if a page was missing. The index has been useless since.
  bool harmed() const { return harmed_.load(std::memory_order_acquire); }
  // The length that the WAL needs to agree with the index. Requires an open connection.
  std::int64_t wal_bytes() const;

 private:
  friend class ShmRegistry;
  const FileId id_;
  std::atomic<void*> first_ = nullptr;  // region 0, while it is mapped
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<bool> harmed_ = false;
  std::map<int, BusGuard> guards_;  // by region; guarded by the registry's mutex
};

// The VFS calls it for each database that it opens under this name.
void watch_shm(sqlite3_file* database, const char* path);

// The memory that the connection has mapped. Null if it has mapped none yet, or has its index in private memory.
std::shared_ptr<const Shm> shm_of(sqlite3* connection);

}  // namespace tenure::sqlite

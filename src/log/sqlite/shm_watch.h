#pragma once

// The shared memory of a database (`PATH-shm`, https://sqlite.org/walformat.html) as this process has it mapped. SQLite
// opens and maps it once for all connections of a process, and never looks whether the path still leads to it. This
// remembers which file it was, and keeps the process alive when the file is truncated (bus_guard.h).

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "log/sqlite/bus_guard.h"
#include "log/sqlite/file_id.h"

namespace tenure::sqlite {

// Thread-safe. Lives as long as a connection has the memory mapped, or somebody keeps it.
class Shm {
 public:
  explicit Shm(FileId id) : id_(id) {}

  const FileId& id() const { return id_; }
  // How long the file has to be for what is mapped.
  std::int64_t bytes() const { return bytes_.load(std::memory_order_acquire); }
  // Whether a page of it was found missing. What the index says since then is of no use.
  bool harmed() const { return harmed_.load(std::memory_order_acquire); }
  // How long the WAL has to be for what the index says of it. To be asked by one who has a connection open.
  std::int64_t wal_bytes() const;

 private:
  friend class ShmRegistry;
  const FileId id_;
  std::atomic<void*> first_ = nullptr;  // region 0, while it is mapped
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<bool> harmed_ = false;
  std::map<int, BusGuard> guards_;  // by region; guarded by the registry's mutex
};

// To be called by the VFS for each database that it has opened under this name.
void watch_shm(sqlite3_file* database, const char* path);

// What the connection has mapped. Null where it has mapped nothing yet, or its index is in its own memory.
std::shared_ptr<const Shm> shm_of(sqlite3* connection);

}  // namespace tenure::sqlite

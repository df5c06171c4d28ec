#include "log/sqlite/shm_watch.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace tenure::sqlite {

// The head of the index: u32 version, unused, change; u8 is_init, big_endian; u16 page_bytes; u32 frames; …
std::int64_t Shm::wal_bytes() const {
  constexpr std::int64_t kWalHead = 32;
  constexpr std::int64_t kFrameHead = 24;
  auto* const words = static_cast<std::uint32_t*>(first_.load(std::memory_order_acquire));
  if (words == nullptr) return 0;
  const std::uint32_t marks = std::atomic_ref(words[3]).load(std::memory_order_acquire);
  const std::uint32_t frames = std::atomic_ref(words[4]).load(std::memory_order_acquire);
  const std::uint32_t page = marks >> 16;  // 1 stands for 65536
  const std::int64_t page_bytes = (page & 0xfe00) + ((page & 1) << 16);
  return frames == 0 || (marks & 0xff) == 0 ? 0 : kWalHead + frames * (kFrameHead + page_bytes);
}

class ShmRegistry {
 public:
  static ShmRegistry& instance() {
    // never destroyed, because connections may outlive static destructors
    static ShmRegistry* const registry = new ShmRegistry;
    return *registry;
  }

  void opened(sqlite3_file* database, const char* path) {
    const std::lock_guard lock(mutex_);
    databases_[database] = {std::string(path) + "-shm", nullptr, nullptr};
  }

  void closed(sqlite3_file* database) {
    const std::lock_guard lock(mutex_);
    leave(database);
    databases_.erase(database);
  }

  // All connections of the process to one database get the same memory. So memory that is already known belongs to the
  // file that was opened first, even if the path leads elsewhere now.
  void mapped(sqlite3_file* database, int region, void* memory, int bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = databases_.find(database);
    if (found == databases_.end()) return;
    Database& entry = found->second;
    if (!entry.shm) {
      if (region != 0) return;
      entry.first = memory;
      std::weak_ptr<Shm>& known = by_memory_[memory];
      entry.shm = known.lock();
      if (!entry.shm) {
        const auto facts = facts_of(entry.path);
        entry.shm = std::make_shared<Shm>(facts ? facts->id : FileId{});
        known = entry.shm;
      }
      entry.shm->first_ = memory;
      ++users_[memory];
    }
    Shm& shm = *entry.shm;
    if (!shm.guards_.contains(region)) {
      shm.guards_.emplace(region, BusGuard(memory, static_cast<std::size_t>(bytes), shm.harmed_));
    }
    const std::int64_t end = (std::int64_t{region} + 1) * bytes;
    shm.bytes_.store(std::max(shm.bytes_.load(), end), std::memory_order_release);
  }

  // Before it is unmapped.
  void unmapping(sqlite3_file* database) {
    const std::lock_guard lock(mutex_);
    leave(database);
  }

  std::shared_ptr<const Shm> shm_of(sqlite3_file* database) {
    const std::lock_guard lock(mutex_);
    const auto found = databases_.find(database);
    return found == databases_.end() ? nullptr : found->second.shm;
  }

 private:
  struct Database {
    std::string path;
    std::shared_ptr<Shm> shm;
    void* first = nullptr;  // where region 0 is mapped
  };

  void leave(sqlite3_file* database) {
    const auto found = databases_.find(database);
    if (found == databases_.end() || !found->second.shm) return;
    Database& entry = found->second;
    if (--users_[entry.first] == 0) {
      entry.shm->first_ = nullptr;
      entry.shm->guards_.clear();
      users_.erase(entry.first);
      by_memory_.erase(entry.first);
    }
    entry.shm.reset();
  }

  std::mutex mutex_;
  // All below is guarded by mutex_.
  std::map<sqlite3_file*, Database> databases_;
  std::map<void*, std::weak_ptr<Shm>> by_memory_;
  std::map<void*, int> users_;
};

namespace {

const sqlite3_io_methods* system_methods = nullptr;

int map_shm(sqlite3_file* file, int region, int bytes, int extend, void volatile** memory) {
  const int code = system_methods->xShmMap(file, region, bytes, extend, memory);
  if (*memory != nullptr) ShmRegistry::instance().mapped(file, region, const_cast<void*>(*memory), bytes);
  return code;
}

int unmap_shm(sqlite3_file* file, int remove) {
  ShmRegistry::instance().unmapping(file);
  return system_methods->xShmUnmap(file, remove);
}

int close_database(sqlite3_file* file) {
  ShmRegistry::instance().closed(file);
  return system_methods->xClose(file);
}

// The system's methods take the same handle, so all others are used unchanged.
const sqlite3_io_methods* watching_methods(const sqlite3_io_methods* methods) {
  static std::mutex mutex;
  static std::optional<sqlite3_io_methods> watching;
  const std::lock_guard lock(mutex);
  if (!watching) {
    system_methods = methods;
    watching = *methods;
    watching->xShmMap = map_shm;
    watching->xShmUnmap = unmap_shm;
    watching->xClose = close_database;
  }
  return methods == system_methods ? &*watching : nullptr;
}

}  // namespace

void watch_shm(sqlite3_file* database, const char* path) {
  const sqlite3_io_methods* methods = database->pMethods;
  if (path == nullptr || methods == nullptr || methods->iVersion < 2 || methods->xShmMap == nullptr) return;
  const sqlite3_io_methods* const watching = watching_methods(methods);
  if (watching == nullptr) return;  // a file system with other locks: its memory is not watched
  ShmRegistry::instance().opened(database, path);
  database->pMethods = watching;
}

std::shared_ptr<const Shm> shm_of(sqlite3* connection) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  return file == nullptr ? nullptr : ShmRegistry::instance().shm_of(file);
}

}  // namespace tenure::sqlite

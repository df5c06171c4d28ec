#include "log/sqlite/wal_gather.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "log/sqlite/shm_watch.h"

namespace tenure::sqlite {
namespace {

// Larger data reaches the file in several writes. SQLite's VFS for Unix writes at most this much at a time.
constexpr std::size_t kGatheredMax = (128U << 10) - 1;

struct Gathered {
  Bytes bytes;
  sqlite3_int64 offset = 0;
  sqlite3_file* owner = nullptr;  // the file that the data belongs to
  int failed = SQLITE_OK;         // the error of a write that SQLite has not been told yet

  void drop() {
    bytes.clear();
    owner = nullptr;
  }
};

thread_local bool gathering = false;
thread_local Gathered gathered;

// A WAL: SQLite's handle, with the handle of the system's VFS behind it.
struct WalFile {
  sqlite3_file handle;
  FileId id;

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real_of(sqlite3_file* file) { return reinterpret_cast<WalFile*>(file)->real(); }

int flush_wal(sqlite3_file* file) {
  if (gathered.failed != SQLITE_OK) return gathered.failed;
  if (gathered.owner != file) return SQLITE_OK;
  sqlite3_file* const real = real_of(file);
  gathered.failed =
      real->pMethods->xWrite(real, gathered.bytes.data(), static_cast<int>(gathered.bytes.size()), gathered.offset);
  gathered.drop();
  return gathered.failed;
}

// Methods that must see all written data in the file.
template <auto Method, class... Args>
int after_flush(sqlite3_file* file, Args... args) {
  if (const int code = flush_wal(file); code != SQLITE_OK) return code;
  sqlite3_file* const real = real_of(file);
  return (real->pMethods->*Method)(real, args...);
}

template <auto Method, class... Args>
int pass(sqlite3_file* file, Args... args) {
  sqlite3_file* const real = real_of(file);
  return (real->pMethods->*Method)(real, args...);
}

// The same, but continues after a failed write: SQLite reads during a rollback, and only frames of earlier
// transactions.
template <auto Method, class... Args>
int look_after_flush(sqlite3_file* file, Args... args) {
  return gathered.failed == SQLITE_OK ? after_flush<Method>(file, args...) : pass<Method>(file, args...);
}

int write_wal(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const auto bytes = static_cast<std::size_t>(size);
  const bool follows =
      gathered.owner == file && gathered.offset + static_cast<sqlite3_int64>(gathered.bytes.size()) == offset;
  const bool fits = gathered.bytes.size() + bytes <= kGatheredMax;
  if (!follows || !fits) {
    if (const int code = flush_wal(file); code != SQLITE_OK) return code;
  }
  if (!gathering || bytes > kGatheredMax || (gathered.owner != nullptr && gathered.owner != file)) {
    if (const int code = flush_wal(file); code != SQLITE_OK) return code;
    return pass<&sqlite3_io_methods::xWrite>(file, data, size, offset);
  }
  if (gathered.owner == nullptr) {
    gathered.owner = file;
    gathered.offset = offset;
  }
  gathered.bytes.append(static_cast<const char*>(data), bytes);
  return SQLITE_OK;
}

int close_wal(sqlite3_file* file) {
  if (gathered.owner == file) gathered.drop();
  return pass<&sqlite3_io_methods::xClose>(file);
}

constexpr sqlite3_io_methods kWalMethods = {
    .iVersion = 1,  // the other methods are called for databases only
    .xClose = close_wal,
    .xRead = look_after_flush<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = write_wal,
    .xTruncate = after_flush<&sqlite3_io_methods::xTruncate, sqlite3_int64>,
    .xSync = after_flush<&sqlite3_io_methods::xSync, int>,
    .xFileSize = look_after_flush<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    .xLock = pass<&sqlite3_io_methods::xLock, int>,
    .xUnlock = pass<&sqlite3_io_methods::xUnlock, int>,
    .xCheckReservedLock = pass<&sqlite3_io_methods::xCheckReservedLock, int*>,
    .xFileControl = pass<&sqlite3_io_methods::xFileControl, int, void*>,
    .xSectorSize = pass<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = pass<&sqlite3_io_methods::xDeviceCharacteristics>,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

WalFile* wal_of(sqlite3* db) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&file));
  return file != nullptr && file->pMethods == &kWalMethods ? reinterpret_cast<WalFile*>(file) : nullptr;
}

sqlite3_vfs* system_vfs = nullptr;

// All files but WALs get the system's own handle.
int open_file(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  if ((flags & SQLITE_OPEN_WAL) == 0) {
    const int code = system_vfs->xOpen(system_vfs, name, file, flags, flags_out);
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) watch_shm(file, name);
    return code;
  }
  auto* const wal = reinterpret_cast<WalFile*>(file);
  wal->handle.pMethods = nullptr;
  wal->real()->pMethods = nullptr;
  const int code = system_vfs->xOpen(system_vfs, name, wal->real(), flags, flags_out);
  if (wal->real()->pMethods == nullptr) return code;
  wal->handle.pMethods = &kWalMethods;
  const auto facts = facts_of(name);
  wal->id = facts ? facts->id : FileId{};
  return code;
}

// A copy of the system's VFS with another function to open files. Its functions use nothing of a VFS that is not copied
// with it.
const char* register_vfs() {
  static constexpr const char* kName = "tenure";
  static sqlite3_vfs vfs;
  system_vfs = sqlite3_vfs_find(nullptr);
  if (system_vfs == nullptr) return nullptr;
  vfs = *system_vfs;
  vfs.pNext = nullptr;
  vfs.zName = kName;
  vfs.szOsFile += static_cast<int>(sizeof(WalFile));
  vfs.xOpen = open_file;
  return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? kName : nullptr;
}

}  // namespace

const char* gathering_vfs() {
  static const char* const name = register_vfs();
  return name;
}

bool syncs_behind_frames(sqlite3* db) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (file == nullptr || file->pMethods == nullptr) return false;
  return (file->pMethods->xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0;
}

FileId wal_id_of(sqlite3* db) {
  WalFile* const wal = wal_of(db);
  return wal == nullptr ? FileId{} : wal->id;
}

std::int64_t wal_bytes_of(sqlite3* db) {
  WalFile* const wal = wal_of(db);
  sqlite3_int64 bytes = 0;
  if (wal == nullptr || wal->real()->pMethods->xFileSize(wal->real(), &bytes) != SQLITE_OK) return 0;
  return bytes;
}

void begin_gathering() {
  ASSERT(!gathering && gathered.owner == nullptr);
  gathering = true;
}

void end_gathering() {
  ASSERT(gathered.owner == nullptr && gathered.failed == SQLITE_OK);
  gathering = false;
}

void drop_gathered() {
  gathering = false;
  gathered.failed = SQLITE_OK;
  gathered.drop();
}

}  // namespace tenure::sqlite

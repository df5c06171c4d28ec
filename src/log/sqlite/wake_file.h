#pragma once

// A small mapped file beside the database (`PATH-wake`) through which the processes of a pool wake each other: a few
// words, used as futexes. It holds no data. Zeroes are a valid start. If a process dies before its wake-up, a waiter
// only has to wait for its slow poll.
//
// If somebody removes, replaces or truncates the file, its users create it again and lose nothing.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "log/sqlite/bus_guard.h"
#include "log/sqlite/file_id.h"

namespace tenure::sqlite {

// The layout of the file. The first four words wrap; only a change has a meaning.
struct WakeWords {
  std::atomic<std::uint32_t> commits;     // incremented after each commit; readers wait on it
  std::atomic<std::uint32_t> releases;    // incremented when the write turn is released; writers wait on it
  std::atomic<std::uint32_t> turns;       // incremented when the write turn is taken
  std::atomic<std::uint32_t> holder_pid;  // who has the write turn, for people; zero if nobody
  // The files that were here when the pool was last opened (side_files.h). Read and written with the write turn held.
  std::atomic<std::uint64_t> self;
  std::atomic<std::uint64_t> database;
  std::atomic<std::uint64_t> wal;
  std::atomic<std::uint64_t> pool;   // whose they are: a hash of its name
  std::atomic<std::uint64_t> crowd;  // about how many readers a commit wakes, times kCrowdOne
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(WakeWords) == 56);

// Wakes at most `count` waiters in any process, and returns how many.
int futex_wake(std::atomic<std::uint32_t>& word, int count);
// Returns when woken, at once if the word is not `seen`, after `span`, or spuriously: callers look again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Nanos span);

// The currently mapped file. Thread-safe: everything is atomics and system calls.
class WakeMap {
 public:
  WakeMap(int descriptor, FileId id, void* memory, bool writable);
  ~WakeMap();
  WakeMap(const WakeMap&) = delete;
  WakeMap& operator=(const WakeMap&) = delete;

  WakeWords& words() const { return *words_; }
  int descriptor() const { return descriptor_; }  // -1 if this user may not open the file
  bool writable() const { return writable_; }
  const FileId& id() const { return id_; }
  // True if the path leads to this file and the file is complete.
  bool is_at(const std::string& path) const;

 private:
  const int descriptor_;
  const FileId id_;
  WakeWords* const words_;
  const bool writable_;
  std::atomic<bool> harmed_ = false;
  std::optional<BusGuard> guard_;
};

// Thread-safe.
class WakeFile {
 public:
  static std::string path_for(const std::string& database) { return database + "-wake"; }

  // Opens or creates the file beside the database, open to everybody who can write the database. With `read_only` it is
  // not created, and may be unwritable or unreadable; waits are short then.
  static Result<std::unique_ptr<WakeFile>> open(const std::string& database, bool read_only);

  std::shared_ptr<WakeMap> map() const;

  // Take the value before looking for entries, and wait on it if there were none.
  std::uint32_t commits() const { return map()->words().commits.load(std::memory_order_acquire); }
  void wait(std::uint32_t seen) const;
  // Call it after a commit, and to interrupt waiters of this process.
  void announce();
  // The average time that a reader should leave between two looks. If hundreds of readers wait, each commit wakes all
  // of them, and they would have no time for anything else.
  Nanos gap() const;

  // True if the path still leads to this file. False after the pool was removed.
  bool current() const { return map()->is_at(path_); }
  // Opens or creates the file again unless it is current.
  Status renew();
  // With the write turn held. A user that finds the pool removed has just created this file again, for nothing: it
  // goes, unless a database is there.
  void drop_if_orphan(const WakeMap& held) const;
  // The same without the write turn, for a user that gave up waiting for it but may have created the file. If another
  // user has the turn, that one drops the file.
  void drop_orphan() const;

  const std::string& path() const { return path_; }

 private:
  WakeFile(std::string database, bool read_only);
  Result<std::shared_ptr<WakeMap>> open_map() const;

  const std::string database_;
  const std::string path_;
  const bool read_only_;
  mutable std::mutex mutex_;
  std::shared_ptr<WakeMap> map_;  // guarded by mutex_
};

}  // namespace tenure::sqlite

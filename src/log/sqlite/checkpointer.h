#pragma once

// Moves the WAL's pages into the database on its own thread, so that the writer need not wait. A passive checkpoint
// runs beside a writer and blocks nobody.
//
// If the writer never pauses, a passive checkpoint never reaches the end of the WAL, and the WAL cannot start over. So
// above kWalPagesMax, checkpoints follow each other until little is left. The writer moves the rest itself, between two
// commits (wal_bound.h). SQLite syncs the database only in a checkpoint that reaches the end, here the writer's. To
// leave it little to sync, the database is synced after each earlier checkpoint.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "log/sqlite/connection.h"

namespace tenure::sqlite {

constexpr int kWalPagesStep = 1024;   // 8 MiB: a checkpoint is due each time the WAL has grown by this
constexpr int kWalPagesSync = 3072;   // 24 MiB: the database is synced too; sooner, it slows down what is soon over
constexpr int kWalPagesMax = 4096;    // 32 MiB: the WAL should start over
constexpr int kWalPagesLimit = 5120;  // 40 MiB: it is overdue, whatever it costs the writer
constexpr int kWalPagesRetry = 256;   // 2 MiB: retry after this, if a reader prevented it
constexpr int kWalRestMax = 128;      // 1 MiB: the writer can move this without a long stall

// Runs a passive checkpoint, and returns how many of the WAL's pages are moved. After a failure the WAL stays longer,
// and the next checkpoint tries again.
int checkpoint(Connection& connection);

// due() and moved() may be called from any thread.
class Checkpointer {
 public:
  // Syncs have a separate connection, so that a failed sync is not hidden from SQLite's own; see sync_database().
  Checkpointer(Connection connection, Connection syncs);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  enum class Then : std::uint8_t { nothing, sync };
  void due(Then then);
  // Runs a checkpoint on the caller's thread and connection. Waits for a running one, because SQLite refuses two at a
  // time.
  void finish(Connection& connection);
  // Like finish(), and truncates the WAL to an empty file. Returns false if another connection prevents it. Does not
  // wait for that one, because appends would wait too.
  bool empty(Connection& connection);
  // How many pages of the WAL the thread's last checkpoint found moved. Only a hint: the WAL may have started over
  // since.
  int moved() const { return moved_.load(std::memory_order_relaxed); }

 private:
  void serve();
  void run(Then then);

  Connection connection_;  // owned by the thread
  Connection syncs_;       // owned by the thread
  std::atomic<int> moved_ = 0;
  std::mutex running_;  // held during a checkpoint; never taken under mutex_
  std::mutex mutex_;
  std::condition_variable wake_;
  bool due_ = false;           // guarded by mutex_
  Then then_ = Then::nothing;  // guarded by mutex_
  bool stopping_ = false;      // guarded by mutex_
  std::thread thread_;         // last: it uses all of the above
};

}  // namespace tenure::sqlite

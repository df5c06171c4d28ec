#pragma once

// Moves the WAL's pages into the database, on a thread of its own: the writer need not wait for it. A passive
// checkpoint runs beside a writer and disturbs nobody.
//
// Under a writer that never pauses it never reaches the WAL's end, which alone lets the WAL start over. So above
// kWalPagesMax checkpoints follow each other until little is left, and that the writer moves itself, between two
// commits (wal_bound.h). SQLite syncs the database only with a checkpoint that reaches the end, here the
// writer's: to leave it little to sync as well, the database is synced after each of those before.

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
constexpr int kWalPagesRetry = 256;   // 2 MiB: where a reader has kept it from that, it is tried again after this
constexpr int kWalRestMax = 128;      // 1 MiB: what the writer moves without being held up for long

// A passive checkpoint of what can be moved now: how many of the WAL's pages are. A failure leaves the WAL longer and
// is tried again with the next.
int checkpoint(Connection& connection);

// due() and moved() may be called from any thread.
class Checkpointer {
 public:
  // Syncs have a connection of their own: one that failed must not be hidden from SQLite's, see sync_database().
  Checkpointer(Connection connection, Connection syncs);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  enum class Then : std::uint8_t { nothing, sync };
  void due(Then then);
  // A checkpoint on the caller's thread and connection, after the one that may be under way: two at a time are refused.
  void finish(Connection& connection);
  // As finish(), and the WAL becomes an empty file. False where another connection stands in the way: it is not waited
  // for, since appends would wait too.
  bool empty(Connection& connection);
  // The pages of the WAL that the thread's last checkpoint has found moved. A hint: the WAL may have started over
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

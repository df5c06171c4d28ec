#pragma once

// Moves the WAL's pages into the database, on a thread of its own: the sync of the database file takes milliseconds,
// and the writer need not wait for it. A passive checkpoint runs beside a writer and disturbs nobody.
//
// Under a writer that never pauses it never reaches the WAL's end, which alone lets the WAL start over; so above
// kWalPagesMax the writer finishes the rest itself, between two commits (Writer::bound_wal).

#include <condition_variable>
#include <mutex>
#include <thread>

#include "log/sqlite/connection.h"

namespace tenure::sqlite {

constexpr int kWalPagesStep = 1024;  // 8 MiB: a checkpoint is due each time the WAL has grown by this
constexpr int kWalPagesMax = 4096;   // 32 MiB: it is overdue

// A passive checkpoint of what can be moved now. A failure leaves the WAL longer and is tried again with the next.
void checkpoint(Connection& connection);

// due() may be called from any thread.
class Checkpointer {
 public:
  explicit Checkpointer(Connection connection);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  void due();
  // A checkpoint on the caller's thread and connection, after the one that may be under way: two at a time are refused.
  void finish(Connection& connection);

 private:
  void serve();

  Connection connection_;  // owned by the thread
  std::mutex running_;     // held during a checkpoint; never taken under mutex_
  std::mutex mutex_;
  std::condition_variable wake_;
  bool due_ = false;       // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: it uses all of the above
};

}  // namespace tenure::sqlite

#pragma once

// The reading side of one Log handle: a thread with a connection of its own that serves read() and load_snapshot().
// When a read finds nothing new, the thread sleeps on the wake file until some process commits.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "log/log.h"
#include "log/sqlite/connection.h"
#include "log/sqlite/entries.h"
#include "log/sqlite/pool_file.h"

namespace tenure::sqlite {

// Thread-safe. Callbacks run on the reader's thread: one hop less between a commit and those who wait for it.
class Reader {
 public:
  using SnapshotDone = std::function<void(Result<Snapshot>)>;

  Reader(std::shared_ptr<PoolFile> file, Connection connection, EntryReader entries);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void read(Cursor after, Log::ReadDone done);
  void load_snapshot(SnapshotDone done);
  // As Log::close. Idempotent.
  void close();

 private:
  void serve();
  void serve_snapshot(std::unique_lock<std::mutex>& lock);
  void serve_read(std::unique_lock<std::mutex>& lock);
  void interrupt_wait();

  const std::shared_ptr<PoolFile> file_;
  Connection connection_;  // owned by the thread
  EntryReader entries_;    // owned by the thread

  std::once_flag closing_;
  std::mutex mutex_;
  std::condition_variable work_;
  // All below is guarded by mutex_.
  Cursor read_after_;
  Log::ReadDone read_done_;  // set while a read is outstanding
  std::deque<SnapshotDone> snapshot_dones_;
  bool waiting_ = false;  // the thread sleeps on the wake file, or is about to
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::sqlite

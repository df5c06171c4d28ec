#pragma once

// The reading side of one Log handle: a thread with a connection of its own that serves read() and load_snapshot().
// What this process has just committed comes from memory (recent_commits.h), all else from the file. When a read finds
// nothing new, the thread sleeps on the wake file until some process commits. When load_snapshot() finds that the file
// was removed or replaced, the thread moves the whole handle to what is there now (access.h).

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "log/log.h"
#include "log/sqlite/access.h"
#include "log/sqlite/connection.h"
#include "log/sqlite/entries.h"
#include "log/sqlite/pool_file.h"

namespace tenure::sqlite {

// A file with what a reader needs to read it. The members go in reverse: statements, connection, file.
struct ReaderFile {
  std::shared_ptr<PoolFile> file;
  Connection connection;
  EntryReader entries;

  static Result<ReaderFile> open(std::shared_ptr<PoolFile> file);
};

// Thread-safe. Callbacks run on the reader's thread: one hop less between a commit and those who wait for it.
class Reader {
 public:
  using SnapshotDone = std::function<void(Result<Snapshot>)>;

  Reader(std::shared_ptr<Access> access, ReaderFile file);
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
  Result<std::vector<Entry>> look(const Cursor& after, std::uint32_t commits);
  Result<Snapshot> load_newest();
  Status follow_path();
  void interrupt_wait();
  bool keep_gap(std::unique_lock<std::mutex>& lock);

  const std::shared_ptr<Access> access_;

  std::once_flag closing_;
  std::mutex mutex_;
  std::condition_variable work_;
  // Used by the thread, which replaces it under mutex_; others use its wake file under mutex_. None while what the path
  // leads to cannot be opened.
  std::unique_ptr<ReaderFile> now_;
  bool polling_ = false;   // owned by the thread: a wait ran out, and the file itself has to be looked at
  Instant looked_at_;      // owned by the thread
  double looks_left_ = 0;  // owned by the thread: those that need not keep the gap
  // All below is guarded by mutex_.
  Cursor read_after_;
  Log::ReadDone read_done_;  // set while a read is outstanding
  std::deque<SnapshotDone> snapshot_dones_;
  bool waiting_ = false;  // the thread sleeps on the wake file, or is about to
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::sqlite

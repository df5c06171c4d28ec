#pragma once

// The reading half of one Log handle: a thread with its own connection that serves read(), find_end() and
// load_snapshot(). Entries
// that this process has just committed come from memory (recent_commits.h), all others from the file. If a read finds
// nothing new, the thread sleeps on the wake file until a process commits. If load_snapshot() finds that the file was
// removed or replaced, the thread moves the handle to the new file (access.h).

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "log/log.h"
#include "log/sqlite/access.h"
#include "log/sqlite/connection.h"
#include "log/sqlite/entries.h"
#include "log/sqlite/pool_file.h"

namespace tenure::sqlite {

// A file with everything that reads it. The members are destroyed in reverse order: statements, connection, file.
struct ReaderFile {
  std::shared_ptr<PoolFile> file;
  Connection connection;
  EntryReader entries;

  static Result<ReaderFile> open(std::shared_ptr<PoolFile> file);
};

// Thread-safe. Callbacks run on the reader's thread, which saves a hop between a commit and its readers.
class Reader {
 public:
  Reader(std::shared_ptr<Access> access, ReaderFile file);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void read(Cursor after, Log::ReadDone done);
  void load_snapshot(IfGone if_gone, Log::LoadDone done);
  void find_end(Log::EndDone done);
  // Like Log::close. Idempotent.
  void close();

 private:
  struct Load {
    IfGone if_gone;
    Log::LoadDone done;
  };

  void serve();
  void serve_snapshot(std::unique_lock<std::mutex>& lock);
  void serve_ends(std::unique_lock<std::mutex>& lock);
  void serve_read(std::unique_lock<std::mutex>& lock);
  Result<std::vector<Entry>> look(const Cursor& after, std::uint32_t commits, bool starts_over);
  Result<Snapshot> load_newest(IfGone if_gone);
  Result<Position> end();
  Status follow_path(IfGone if_gone);
  // Something other than a read waits for the thread. With mutex_ held.
  bool asked() const { return !loads_.empty() || !end_dones_.empty(); }
  void interrupt_wait();
  bool keep_gap(std::unique_lock<std::mutex>& lock);

  const std::shared_ptr<Access> access_;

  std::once_flag closing_;
  std::mutex mutex_;
  std::condition_variable work_;
  // The thread uses it, and replaces it with mutex_ held. Others use its wake file with mutex_ held. Null while the
  // file at the path cannot be opened.
  std::unique_ptr<ReaderFile> now_;
  bool polling_ = false;   // owned by the thread: a wait timed out, so look at the file itself
  Instant looked_at_;      // owned by the thread
  double looks_left_ = 0;  // owned by the thread: how many looks may skip the gap
  // All below is guarded by mutex_.
  Cursor read_after_;
  Log::ReadDone read_done_;  // set while a read is outstanding
  std::deque<Load> loads_;
  std::vector<Log::EndDone> end_dones_;
  bool waiting_ = false;  // the thread sleeps on the wake file, or is about to
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tenure::sqlite

#pragma once

// The writing half of one Log handle: which file its appends and chores go to. It outlives the handle where a snapshot
// writer does.
//
// A handle keeps its file until load_snapshot() finds that the path leads elsewhere. Then the reader's thread, which
// alone decides this, lets go of the file, opens what is there now, reads from it, and hands it over here. Everything
// that the handle still had with the old file's writer is answered, so that nothing of the handle stays behind. The old
// file goes with the last handle that lets go of it.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "log/callback_thread.h"
#include "log/log.h"
#include "log/sqlite/chore.h"
#include "log/sqlite/pool_file.h"
#include "log/sqlite/settings.h"

namespace tenure::sqlite {

// Thread-safe. Its lock is taken before the writer's, and never while a callback runs.
class Access {
 public:
  using Done = std::function<void(Status)>;
  // Counts how often the handle began anew. A snapshot of one history must not get into another.
  using History = std::uint64_t;

  Access(SqliteSettings settings, LogOptions options, std::shared_ptr<PoolFile> file);

  void append(Lane lane, Bytes data, Log::AppendDone done);
  void run(std::unique_ptr<Chore> chore, Done done);
  // As run, but only in this history; Errc::lost_history in any other.
  void run_in(History history, std::unique_ptr<Chore> chore, Done done);
  void refuse(Status status, Done done) const;
  History history() const;
  void close();

  // For the reader. From lose() to begin_anew() appends and chores are answered with Errc::lost_history.
  void lose();
  // As lose(), and the file is closed if no other handle has it. To be called before reopen(): SQLite gives what a
  // process has open of a database to all who open it again there, also where it was replaced by another file.
  void let_go();
  // What the path leads to now, created if there is nothing. Does not wait for long, so that close() need not either:
  // Errc::unavailable where another process is at it.
  Result<std::shared_ptr<PoolFile>> reopen() const;
  void move_to(std::shared_ptr<PoolFile> file);
  void begin_anew();

 private:
  void run_locked(std::unique_ptr<Chore> chore, Done done);
  void refuse_append(Result<Position> error, Log::AppendDone done) const;

  const SqliteSettings settings_;
  const LogOptions options_;
  const std::shared_ptr<CallbackThread> callbacks_ = std::make_shared<CallbackThread>();

  mutable std::mutex mutex_;
  // All below is guarded by mutex_.
  std::shared_ptr<PoolFile> file_;  // none between let_go() and move_to()
  History history_ = 0;
  bool lost_ = false;
};

}  // namespace tenure::sqlite

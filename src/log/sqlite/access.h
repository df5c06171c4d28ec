#pragma once

// The writing half of one Log handle. It knows the file for the handle's appends and chores. It outlives the handle if
// a snapshot writer does.
//
// A handle keeps its file until load_snapshot() finds that the path leads to another one. Then the reader's thread (no
// other decides this) releases the file, opens the new one, reads from it, and passes it to move_to(). Everything that
// the handle still had with the old file's writer is answered. The old file is closed with the last handle that
// releases it.

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

// Thread-safe. Its lock is taken before the writer's lock, and never during a callback.
class Access {
 public:
  using Done = std::function<void(Status)>;
  // Counts how often the handle started over. A snapshot of one history must not get into another.
  using History = std::uint64_t;

  Access(SqliteSettings settings, LogOptions options, std::shared_ptr<PoolFile> file);

  void append(Lane lane, Bytes data, Log::AppendDone done);
  void run(std::unique_ptr<Chore> chore, Done done);
  // Like run(), but fails with Errc::lost_history in any other history.
  void run_in(History history, std::unique_ptr<Chore> chore, Done done);
  void refuse(Status status, Done done) const;
  History history() const;
  void close();

  // For the reader. From lose() to begin_anew(), appends and chores fail with Errc::lost_history.
  void lose();
  // Like lose(), and closes the file unless another handle uses it. Call it before reopen(): within a process, SQLite
  // shares an open file with everybody who opens the same path again, even if the path leads to a new file.
  void let_go();
  // Opens the file at the path, or creates it if `if_gone` says so. Does not wait long, so that close() need not
  // either: fails with Errc::unavailable while another process works on it.
  Result<std::shared_ptr<PoolFile>> reopen(IfGone if_gone) const;
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

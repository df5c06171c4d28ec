#pragma once

// The one writer of a file in this process: a thread that puts everything that waits into one transaction (group
// commit), beats first. All Log handles of the file share it.
//
//   append() ─▶ lanes ─▶ take the write turn ─▶ batch ─▶ BEGIN … COMMIT ─▶ wake readers ─▶ give the turn back ─▶
//   answers run()    ─▶ chores ──────────────────────────▶ one step, in transactions of its own ──────┘

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/front_queue.h"
#include "log/callback_thread.h"
#include "log/log.h"
#include "log/sqlite/chore.h"
#include "log/sqlite/connection.h"
#include "log/sqlite/entries.h"
#include "log/sqlite/recent_commits.h"
#include "log/sqlite/settings.h"
#include "log/sqlite/wal_bound.h"
#include "log/sqlite/write_turn.h"

namespace tenure::sqlite {

// Thread-safe. Answers go to the callback thread of the calling handle.
class Writer {
 public:
  using Callbacks = std::shared_ptr<CallbackThread>;
  using ChoreDone = std::function<void(Status)>;
  // Checks that newcomers would get the files that were opened (proof.h); before beats, also that they would look for
  // no other ones. Called with the write turn held, with the writer's connection.
  using Prove = std::function<Status(Connection&, bool beats)>;

  // The bound of a lane. Above it an append fails with Errc::unavailable. Each lane has its own bound, so that a flood
  // of data does not use up the beats' space.
  static constexpr std::size_t kLaneBytesMax = 64U << 20;
  static constexpr std::size_t kLaneEntriesMax = 1U << 18;

  // `connection` is for writing; `checkpoints` and `syncs` are for the checkpointer.
  Writer(Connection connection, EntryWriter entries, Connection checkpoints, Connection syncs, WakeFile& wake,
         RecentCommits& recent, Prove prove);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // A stricter setting takes effect with the next transaction, a weaker one never: all handles of the file get the
  // strictest promise.
  void require(Sync sync);

  void append(Lane lane, Bytes data, Log::AppendDone done, Callbacks callbacks);
  void run(std::unique_ptr<Chore> chore, ChoreDone done, Callbacks callbacks);

  // When it returns, the handle's callbacks are destroyed and its waiting work is dropped. Work in a running
  // transaction may still be written.
  void forget(const CallbackThread& callbacks);
  // For a handle that moves to another file: fails its waiting work with Errc::lost_history, and work in a transaction
  // with Errc::unknown. Nothing of the handle stays.
  void leave(const CallbackThread& callbacks);

 private:
  struct Append {
    Bytes data;
    Log::AppendDone done;
    Callbacks callbacks;
  };
  struct Queue {
    FrontQueue<Append> appends;
    std::size_t bytes = 0;
  };
  struct Errand {
    std::unique_ptr<Chore> chore;
    ChoreDone done;
    Callbacks callbacks;  // null once its handle is gone
  };

  // Everything of one handle.
  struct Belongings {
    std::vector<Append> waiting;
    std::vector<Append> in_transaction;
    std::vector<Errand> errands;
    bool first_begun = false;  // the first of the errands has begun
  };

  Belongings take_all_of(const CallbackThread& callbacks);

  void serve();
  bool idle() const;
  std::size_t waiting() const;
  bool wait_for_work(std::unique_lock<std::mutex>& lock);
  void gather(std::unique_lock<std::mutex>& lock);
  void take_turn();
  void use_quiet_turn();
  void fail_waiting(const Error& error);

  void take_batch();
  Result<Position> write_batch();
  void keep_batch(Position first);
  void answer_batch(const Result<Position>& first);
  void post_answers(Lane lane, std::size_t begin, std::size_t end, Position first);
  void post_error(Lane lane, std::size_t begin, std::size_t end, const Error& error);

  Result<bool> step_chore();
  void answer_chore(const Result<bool>& finished);

  Status prepare_transaction();

  const std::string path_;
  const Prove prove_;
  WakeFile& wake_;
  RecentCommits& recent_;
  WriteTurn turn_;
  std::atomic<Sync> sync_wanted_ = Sync::off;

  // Owned by the thread.
  Connection connection_;
  EntryWriter entries_;
  std::optional<Sync> sync_set_;
  std::vector<CallbackThread::Appended> answers_;
  std::size_t last_batch_ = 0;  // the entries of the last commit,
  Nanos last_commit_{0};        // and how long its COMMIT took

  WalBound wal_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::array<Queue, 2> lanes_;  // guarded by mutex_
  std::deque<Errand> errands_;  // guarded by mutex_; the first one's chore is used by the thread without it
  // The appends of the current transaction, beats first. The thread fills and empties it with mutex_ held. In between
  // the thread uses `data` without mutex_, and forget() takes `done` away with mutex_ held.
  std::vector<Append> batch_;
  std::vector<Append> spent_;    // owned by the thread; the last batch, kept for its capacity
  std::size_t batch_beats_ = 0;  // owned by the thread
  std::size_t wake_at_ = 1;      // guarded by mutex_; how many waiting appends wake the thread
  bool stopping_ = false;        // guarded by mutex_
  std::thread thread_;           // last: it uses all of the above
};

}  // namespace tenure::sqlite

#pragma once

// Opens a handle, stores snapshots, trims and removes. librdkafka's requests for this block, so they run on a thread.
// The request for the log's end runs on another one, because it must not wait for a snapshot.

#include <functional>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "log/callback_thread.h"
#include "log/kafka/session.h"
#include "log/kafka/snapshots.h"
#include "log/open.h"

namespace tenure::kafka {

// Thread-safe. Shared by a handle and its snapshot writers.
class Core {
 public:
  Core(KafkaSettings settings, LogOptions options);
  ~Core() { close(); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Finds or creates the log. Called once, before everything else, on the caller's thread.
  Status open();
  void close();

  std::shared_ptr<Session> session() const;
  const LogOptions& options() const { return options_; }
  std::uint32_t shards() const { return options_.shard.count; }

  // Runs a blocking request on the thread for them, and `done` with its result behind it.
  template <class T>
  void ask(std::function<void(T)> done, std::function<T()> work) {
    chores_.post(Lane::data, [this, done = std::move(done), work = std::move(work)] {
      T result = work();
      if (!chores_.closed()) done(std::move(result));
    });
  }
  void find_end(Log::EndDone done);
  // After some of the beats, the stored snapshot is looked at.
  void watch_snapshot(Log::SnapshotSeen seen);
  void beat_sent();
  // Outside the call that it answers.
  void answer(std::function<void()> call) { answers_.post(Lane::beat, std::move(call)); }

  // These block.
  Result<Snapshot> load_snapshot(IfGone if_gone);
  Status store_snapshot(std::uint64_t log, Snapshot snapshot);
  Status trim(Position before);
  Status remove();
  Result<Position> end();

 private:
  Result<std::unique_ptr<Prober>> make_prober() const;
  Result<FoundLog> find(Prober& prober, bool create) const;
  Result<Snapshot> try_load(IfGone if_gone);
  Status continue_in(const FoundLog& found);
  Result<std::int64_t> time_of(Session& session, Cursor cursor);
  Snapshots snapshots_of(Session& session) const { return {settings_, names_, session.prober()}; }

  const KafkaSettings settings_;
  LogOptions options_;
  const TopicNames names_;

  mutable std::mutex mutex_;
  std::shared_ptr<Session> session_;  // guarded by mutex_
  Log::SnapshotSeen snapshot_seen_;   // guarded by mutex_
  Instant looked_at_;                 // guarded by mutex_; when the stored snapshot was last looked at
  bool closing_ = false;              // guarded by mutex_

  CallbackThread answers_;
  CallbackThread chores_;
};

}  // namespace tenure::kafka

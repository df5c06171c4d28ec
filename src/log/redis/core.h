#pragma once

// Everything that one handle does with its log, on the reactor's thread: three connections, their requests, and the
// handle's knowledge of the history.
//
//   data   appends, snapshots, trims: everything that may be large
//   beat   beats, which wait for nothing
//   tail   the blocking read

#include <functional>
#include <memory>
#include <string>

#include "log/log.h"
#include "log/open.h"
#include "log/redis/append_lane.h"
#include "log/redis/connection.h"
#include "log/redis/find_log.h"
#include "log/redis/history.h"
#include "log/redis/keys.h"
#include "log/redis/snapshots.h"
#include "log/redis/tail.h"

namespace tenure::redis {

// Belongs to the loop. Appends are answered after the turn, everything else in a turn.
class Core {
 public:
  using Done = std::function<void(Status)>;
  using SnapshotDone = std::function<void(Result<Snapshot>)>;

  Core(const World& world, const RedisSettings& settings, const LogOptions& options, const CallAfter& call_after);

  // Finds or creates the log.
  void open(Done done);
  void append(Lane lane, Bytes data, Log::AppendDone done);
  void read(Cursor after, Log::ReadDone done) { tail_.read(after, std::move(done)); }
  void find_end(Log::EndDone done);
  void load_snapshot(IfGone if_gone, SnapshotDone done) { try_load(if_gone, std::move(done), 0); }
  void watch_snapshot(Log::SnapshotSeen seen) { snapshot_seen_ = std::move(seen); }
  // `log` is the log that the snapshot belongs to.
  void store_snapshot(std::uint64_t log, Snapshot snapshot, Done done);
  void trim(Position before, Done done);
  void remove(Done done);

  std::uint64_t log_id() const { return history_.id; }
  std::uint32_t shards() const { return options_.shard.count; }

 private:
  Greeting greet(const std::vector<const Script*>& scripts) const;
  void find(bool create, FindLog::Done done);
  void try_load(IfGone if_gone, SnapshotDone done, int tries);
  void load_again(IfGone if_gone, SnapshotDone done, int tries);
  void ask_removed(Snapshot snapshot, const SnapshotDone& done);
  void loaded(const Overview& overview);
  void enter(const Overview& overview);
  void lose(const Error& error);
  void tell_snapshot(Position stored) const;
  Status check_history() const;

  const World world_;
  const RedisSettings& settings_;
  const CallAfter call_after_;
  Log::SnapshotSeen snapshot_seen_;
  LogOptions options_;  // with the log's number of shards, once it is open
  const Keys keys_;
  History history_;
  Connection data_connection_;
  Connection beat_connection_;
  Connection tail_connection_;
  AppendLane data_;
  AppendLane beats_;
  Tail tail_;
  Timer load_retry_;
};

}  // namespace tenure::redis

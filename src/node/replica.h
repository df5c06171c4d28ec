#pragma once

// A machine that follows a log: loads the newest snapshot, applies every entry after it, and says when history was
// lost. Also writes snapshots when they are worth it (snapshot_rule.h), a piece at a time between entries.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/backoff.h"
#include "base/entropy.h"
#include "base/loop.h"
#include "log/log.h"
#include "machine/decode.h"
#include "machine/machine.h"
#include "node/retention.h"
#include "node/snapshot_rule.h"
#include "node/token.h"

namespace tenure {

class ReplicaEvents {
 public:
  virtual ~ReplicaEvents() = default;
  // An entry has been applied, and the machine may be read.
  virtual void applied() {}
  // The state was replaced, by the newest snapshot.
  virtual void reloaded() {}
  // Entries that had been applied are gone or different; or this reader fell behind what the log keeps, and nobody
  // can tell whether they are. The replica reloads once resume() is called.
  virtual void history_lost() = 0;
  // The log cannot be followed any further, now or ever.
  virtual void broken(const Error& error) = 0;
  // The log gives nothing now, twice in a row; it is tried again. Said once.
  virtual void read_delayed(const Error& /*error*/) {}
  // It gives entries again.
  virtual void read_resumed() {}
  // A snapshot is stored.
  virtual void snapshot_stored(Position /*position*/) {}
};

struct ReplicaOptions {
  bool snapshots = true;                        // whether this replica may write any
  std::uint64_t snapshot_bytes_min = 4U << 20;  // less of a log than this is not worth a snapshot
  std::uint32_t speaks = kMachineVersion;       // the newest machine version; the simulator has older programs, too
};

// Belongs to the node's loop.
class Replica {
 public:
  // `effects`: where the machine says what follows from each entry.
  Replica(Log& log, Loop& loop, Entropy& entropy, ReplicaOptions options, Effects& effects, ReplicaEvents& events);

  void start();
  // Gives up the present state, as if the engine had said that history was lost.
  void abandon();
  // Begins anew from the newest snapshot, after history_lost().
  void resume();

  const Machine& machine() const { return *machine_; }
  Position position() const { return cursor_.position; }
  // The digest right after the entry at this position, if that is not too long ago.
  std::optional<std::uint64_t> digest_at(Position position) const;
  std::uint64_t log_bytes() const { return bytes_since_; }
  std::uint64_t bytes_applied() const { return bytes_applied_; }  // ever
  // A node that speaks later writes later: zero for the eldest.
  void set_rank(std::size_t rank) { rank_ = rank; }
  // Somebody has stored a snapshot as of this position.
  void note_saved(Position position);
  // A member says that it has applied the log up to here. A session that has ended says no more.
  void note_read(std::uint64_t session, Position position);
  void forget_reader(std::uint64_t session) { read_by_.erase(session); }
  // When the last entry was applied, on this loop's clock.
  Instant applied_at() const { return applied_at_; }

 private:
  struct Weighed {
    Position position;
    std::uint64_t bytes;
  };
  // What a read has brought. While one run is applied the next is read, and what its bytes say is found out, on the
  // engine's thread; there are two of them at most, whose memory is used again.
  struct Run {
    std::vector<Entry> entries;
    std::vector<const v1::Batch*> batches;  // of the entries, one by one
    std::optional<Error> error;             // or why there are none
    Decoder decoder;

    void fill(Result<std::vector<Entry>>&& read);
    // So that the engine's thread may apply it itself.
    bool small() const;
  };
  using RunPtr = std::shared_ptr<Run>;

  void outdate();
  void load();
  void loaded(Result<Snapshot> snapshot);
  void read(const Cursor& after);
  void read_on() { read(cursor_); }
  void came(std::uint64_t generation, const RunPtr& run);
  void take(const Run& run);
  void failed(const Error& error);
  void retry(const Error& error, void (Replica::*step)());
  void in_touch();
  bool apply(const Entry& entry, const v1::Batch* batch);
  void maybe_snapshot();
  SnapshotRule::Verdict judge_snapshot();
  void look_for_quiet();
  void begin_snapshot();
  void write_snapshot();
  void end_snapshot(const Status& stored);
  void snapshot_seen(Position stored);
  void trim();
  Retention::Members members() const;

  Log& log_;
  Loop& loop_;
  ReplicaOptions options_;
  Effects& effects_;
  ReplicaEvents& events_;
  std::unique_ptr<Machine> machine_;
  Cursor cursor_;
  Instant applied_at_;
  Backoff backoff_;
  Timer retry_;
  int failures_ = 0;              // in a row
  std::uint64_t generation_ = 0;  // outdates reads and snapshots that were under way at a reload
  bool loading_ = false;
  bool reading_ = false;   // a read is outstanding, if only one that is outdated,
  bool read_due_ = false;  // for which the first of the new generation has to wait
  RunPtr spare_;           // null while both are in use, or there is only one yet

  std::deque<std::pair<Position, std::uint64_t>> digests_;
  std::deque<Weighed> weighed_;  // entries since the last snapshot
  std::uint64_t bytes_since_ = 0;
  std::uint64_t bytes_applied_ = 0;  // ever
  SnapshotRule rule_;
  Timer quiet_;  // armed while a snapshot is due and waits for a quiet moment
  std::size_t rank_ = 0;
  std::unique_ptr<SnapshotSource> source_;
  std::unique_ptr<SnapshotWriter> writer_;
  Cursor snapshot_at_;
  Retention retention_;
  std::map<std::uint64_t, Position> read_by_;  // by session: how far each member has read, as it said last
  std::size_t missing_seen_ = 0;               // how often a snapshot was missing, in a row
  bool trim_due_ = false;                      // something was said that lets more of the log go
  Timer trim_;                                 // armed while a snapshot waits for the log before it to go
  Token token_;
};

}  // namespace tenure

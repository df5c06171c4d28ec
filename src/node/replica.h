#pragma once

// Makes a machine follow a log. It loads the newest snapshot, applies every entry after it, and reports lost history.
// It also writes snapshots when they are worth it (snapshot_rule.h), one piece at a time between entries.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/backoff.h"
#include "base/entropy.h"
#include "base/loop.h"
#include "log/log.h"
#include "machine/decode.h"
#include "machine/state_machine.h"
#include "node/retention.h"
#include "node/snapshot_rule.h"
#include "node/token.h"

namespace tenure {

class ReplicaEvents {
 public:
  virtual ~ReplicaEvents() = default;
  // An entry was applied. The machine may be read.
  virtual void applied() {}
  // The state was replaced, by the newest snapshot.
  virtual void reloaded() {}
  // Entries that were applied are gone or different. Or this reader is behind what the log keeps, so nobody can tell.
  // The replica reloads after resume().
  virtual void history_lost() = 0;
  // The log cannot be followed any further, now or later.
  virtual void broken(const Error& error) = 0;
  // The log has failed to return entries twice in a row. It is tried again. Called once.
  virtual void read_delayed(const Error& /*error*/) {}
  // After resume(IfGone::report): there is no log any more. Nothing is read until the next resume().
  virtual void log_gone() {}
  // The log returns entries again.
  virtual void read_resumed() {}
  // A snapshot is stored.
  virtual void snapshot_stored(Position /*position*/) {}
};

struct ReplicaOptions {
  bool snapshots = true;                        // whether this replica may write snapshots
  std::uint64_t snapshot_bytes_min = 4U << 20;  // a shorter log is not worth a snapshot
};

// Belongs to the node's loop.
class Replica {
 public:
  // A new machine in the state before the first entry: one now, and another for each state that is loaded.
  using MakeMachine = std::function<std::unique_ptr<StateMachine>()>;

  // `effects`: gets the effects of each entry.
  Replica(Log& log, Loop& loop, Entropy& entropy, ReplicaOptions options, MakeMachine make_machine, Effects& effects,
          ReplicaEvents& events);

  void start();
  // Drops the current state, as if the engine had reported lost history.
  void abandon();
  // Starts over from the newest snapshot, after history_lost().
  void resume(IfGone if_gone = IfGone::create);

  const StateMachine& machine() const { return *machine_; }
  // After reloaded(): the machine whose place another one has taken, once; and what the engine says of removals.
  std::unique_ptr<StateMachine> take_replaced() { return std::move(replaced_); }
  std::optional<std::int64_t> removed_ms() const { return removed_ms_; }
  // In history_lost(): the log was merely trimmed too far for this reader, which was slow.
  bool fell_behind() const { return fell_behind_; }
  Position position() const { return cursor_.position; }
  // The digest right after the entry at this position, if it is recent enough.
  std::optional<std::uint64_t> digest_at(Position position) const;
  std::uint64_t log_bytes() const { return bytes_since_; }
  std::uint64_t bytes_applied() const { return bytes_applied_; }  // since the start
  // The node's place in the order of writing snapshots. Zero for the eldest; others write later.
  void set_rank(std::size_t rank) { rank_ = rank; }
  // Another member has stored a snapshot of this position.
  void note_saved(Position position);
  // A member reports that it has applied the log up to here. Ended sessions report nothing.
  void note_read(std::uint64_t session, Position position);
  void forget_reader(std::uint64_t session) { read_by_.erase(session); }
  // When the last entry was applied, on this loop's clock.
  Instant applied_at() const { return applied_at_; }

 private:
  struct Weighed {
    Position position;
    std::uint64_t bytes;
  };
  // The result of a read. While one run is applied, the next is read and decoded on the engine's thread. There are at
  // most two, and their memory is reused.
  struct Run {
    std::vector<Entry> entries;
    std::vector<const v1::Batch*> batches;  // of the entries, in order
    std::vector<Cursor> cursors;            // the same; the loop is spared the hashing
    std::optional<Error> error;             // why there are none
    Decoder decoder;

    void fill(Result<std::vector<Entry>>&& read);
    // True if the engine's thread may apply it itself.
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
  bool apply(const Entry& entry, const Cursor& cursor, const v1::Batch* batch);
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
  const MakeMachine make_machine_;
  std::unique_ptr<StateMachine> machine_;
  std::unique_ptr<StateMachine> replaced_;
  std::optional<std::int64_t> removed_ms_;
  bool fell_behind_ = false;
  Cursor cursor_;
  Instant applied_at_;
  Backoff backoff_;
  Timer retry_;
  int failures_ = 0;              // in a row
  std::uint64_t generation_ = 0;  // makes reads and snapshots from before a reload obsolete
  bool loading_ = false;
  IfGone if_gone_ = IfGone::create;  // for the present load
  bool reading_ = false;             // a read is outstanding, perhaps an obsolete one
  bool read_due_ = false;            // the first read of the new generation waits for it
  RunPtr spare_;                     // null while both are in use, or if there is only one

  std::deque<std::pair<Position, std::uint64_t>> digests_;
  std::deque<Weighed> weighed_;  // entries since the last snapshot
  std::uint64_t bytes_since_ = 0;
  std::uint64_t bytes_applied_ = 0;  // since the start
  SnapshotRule rule_;
  Timer quiet_;  // armed while a snapshot is due and waits for a quiet moment
  std::size_t rank_ = 0;
  std::unique_ptr<SnapshotSource> source_;
  std::unique_ptr<SnapshotWriter> writer_;
  Cursor snapshot_at_;
  Retention retention_;
  std::map<std::uint64_t, Position> read_by_;  // by session: how far each member has read, by its own report
  std::size_t missing_seen_ = 0;               // how often in a row a snapshot was missing
  bool trim_due_ = false;                      // a report allows to trim more of the log
  Timer trim_;                                 // armed while a snapshot waits for the log before it to go
  Token token_;
};

// A replica of one kind of machine, for owners that read more of it than the frame.
template <class M>
class ReplicaOf final : public Replica {
 public:
  // `speaks`: the newest machine version that it supports.
  ReplicaOf(Log& log, Loop& loop, Entropy& entropy, ReplicaOptions options, std::uint32_t speaks, Effects& effects,
            ReplicaEvents& events)
      : Replica(log, loop, entropy, options, [speaks] { return std::make_unique<M>(speaks); }, effects, events) {}

  const M& machine() const { return static_cast<const M&>(Replica::machine()); }
  std::unique_ptr<M> take_replaced() { return std::unique_ptr<M>(static_cast<M*>(Replica::take_replaced().release())); }
};

}  // namespace tenure

#pragma once

// The keyed pool as a deterministic state machine. apply(entry) changes the state at one position of the log to the
// state at the next, and reports the effects. It is pure: no clock, no I/O, no threads, no randomness. Nodes that have
// applied the same entries have the same state and digest, and have reported the same effects.
//
// The machine is a frame around parts:
//
//   machine    an entry: log time, timers, repeated batches, records in order; options, versions, the end of the pool
//   sessions/  nodes that join, beat and end
//   answers/   the answers that dispatchers get
//   keys/      workers, jobs, and who holds what
//
// Parts reach the frame and each other through a Context. state.h has the whole state, snapshot.h its bytes.
//
// Not thread-safe: a machine belongs to one loop.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "machine/config.h"
#include "machine/context.h"
#include "machine/decode.h"
#include "machine/effects.h"
#include "machine/keys/keys.h"
#include "machine/limits.h"
#include "machine/sessions/sessions.h"
#include "machine/snapshot.h"
#include "machine/state.h"

namespace tenure {

namespace v1 {
class Configure;
class Join;
class Record;
class SwitchVersion;
}  // namespace v1

struct EntryView {
  std::uint64_t position;
  std::int64_t time_ms;  // the engine's time
  BytesView data;
};

class Machine {
 public:
  // `speaks`: the newest version that it applies.
  explicit Machine(std::uint32_t speaks = kMachineVersion);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void apply(const EntryView& entry, Effects& effects) { apply(entry, decoder_.decode(entry.data), effects); }
  // The same if a Decoder has already read the entry's bytes, possibly on another thread.
  void apply(const EntryView& entry, const v1::Batch* batch, Effects& effects);

  // A chain over every decision so far: equal on all nodes at the same position. Constant time.
  std::uint64_t digest() const { return state_.frame.digest; }
  // A digest of the whole state, computed from scratch. For tests, and to check a restored snapshot.
  std::uint64_t state_digest() const { return digest_of(state_); }

  // The current state in chunks. The machine may apply entries while the chunks are taken, and every chunk is cheap. At
  // most one snapshot at a time.
  std::unique_ptr<SnapshotSource> begin_snapshot();
  // Replaces the state. After an error the old state stays.
  Status restore(const std::vector<Bytes>& chunks);

  // Reading the frame.
  std::uint64_t position() const { return state_.frame.position; }
  std::uint32_t version() const { return state_.frame.version; }
  std::uint32_t speaks() const { return speaks_; }
  std::int64_t log_time_ms() const { return state_.frame.log_time_ms; }
  std::int64_t engine_ms() const { return state_.frame.engine_ms; }  // time of the last entry, for people
  std::uint64_t epoch_last() const { return state_.frame.epoch; }
  const PoolConfig& config() const { return state_.frame.config; }
  bool configured() const { return state_.frame.configured; }
  bool shutting_down() const { return state_.frame.shutting_down; }
  bool drained() const { return shutting_down() && keys_.idle(); }
  bool gone() const { return state_.frame.gone; }
  std::uint64_t last_sequence(std::uint64_t sender) const { return state_.frame.senders.last(sender); }
  std::optional<std::int64_t> next_due_ms() const;
  const MachineStats& stats() const { return context_.stats; }
  std::uint64_t state_bytes() const { return keys_.bytes(); }  // the approximate size of a snapshot

  // Reading the parts.
  const SessionTable& sessions() const { return state_.sessions; }
  const std::map<std::uint64_t, DueAnswer>& answers() const { return state_.answers.by_ticket; }
  const std::map<std::uint64_t, std::uint64_t>& answer_order() const { return state_.answers.by_order; }  // -> ticket
  const WorkerTable& workers() const { return state_.keys.workers; }
  const std::map<std::uint64_t, DeadLetter>& dead() const { return state_.keys.dead; }
  BytesView dead_payload(const DeadLetter& letter) const { return state_.keys.table.jobs[letter.job].payload; }
  const std::deque<PastTenure>& past_tenures() const { return state_.keys.past; }  // the last ones, oldest first
  std::uint32_t queued() const { return state_.keys.queued; }
  std::uint32_t delayed() const { return state_.keys.delayed; }
  std::uint32_t keys() const { return state_.keys.table.slots.live(); }
  std::optional<JobInfo> find(BytesView key) const { return keys_.find(key); }
  // Calls `visit` for slots from `from` on until it returns false. Returns where to continue, or kNone at the end.
  SlotId each_job(SlotId from, const std::function<bool(const JobInfo&)>& visit) const {
    return keys_.each_job(from, visit);
  }
  // The messages that the job's holder has not handled yet.
  void each_message(BytesView key, const std::function<void(std::uint64_t, BytesView)>& visit) const {
    keys_.each_message(key, visit);
  }
  // The tickets of all jobs (waiting, held and dead) and of callers that wait for a job to stop.
  void each_ticket(const std::function<void(const TicketView&)>& visit) const { keys_.each_ticket(visit); }

 private:
  void apply_record(const v1::Record& record);
  void advance_time(std::int64_t engine_ms);
  void fire_timers();
  void settle();
  void join(const v1::Join& record);
  void end_session(const std::optional<EndedSession>& ended);
  void configure(const v1::Configure& record);
  void switch_version(const v1::SwitchVersion& record);
  void begin_shutdown();
  void check_end();

  const std::uint32_t speaks_;
  Decoder decoder_;
  MachineState state_;
  Context context_{speaks_, state_.frame, state_.sessions, answers_};
  Answers answers_{state_.answers, context_};
  Sessions sessions_{state_.sessions, context_};
  Keys keys_{state_.keys, context_};
  bool told_drained_ = false;  // between entries: drained()
  bool snapshot_under_way_ = false;
};

}  // namespace tenure

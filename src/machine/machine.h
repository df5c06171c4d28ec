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
//   sources/   how far each source of tasks was taken in
//
// Parts reach the frame and each other through a Context. state.h has the whole state, snapshot.h its bytes. What
// follows a log sees only a StateMachine.
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
#include "machine/keys/ticket_source.h"
#include "machine/limits.h"
#include "machine/restoration.h"
#include "machine/restore_source.h"
#include "machine/sessions/sessions.h"
#include "machine/snapshot.h"
#include "machine/sources/sources.h"
#include "machine/state.h"
#include "machine/state_machine.h"

namespace tenure {

namespace v1 {
class Configure;
class Join;
class Record;
class Restore;
class SwitchVersion;
}  // namespace v1

class Machine final : public StateMachine, public TicketSource {
 public:
  // `speaks`: the newest version that it applies.
  explicit Machine(std::uint32_t speaks = kMachineVersion);
  ~Machine() override;

  // Decodes the entry itself.
  void apply(const EntryView& entry, Effects& effects) { apply(entry, decoder_.decode(entry.data), effects); }

  // StateMachine.
  void apply(const EntryView& entry, const v1::Batch* batch, Effects& effects) override;
  std::unique_ptr<SnapshotSource> begin_snapshot() override;
  Status restore(const std::vector<Bytes>& chunks) override;
  std::uint64_t state_bytes() const override { return keys_.bytes() + state_.sources.by_name.size() * 64; }

  // A digest of the whole state, computed from scratch. For tests, and to check a restored snapshot.
  std::uint64_t state_digest() const { return digest_of(state_); }

  // What this machine knows, for another log. The machine must not change any more.
  std::unique_ptr<RestoreSource> remembered() const { return std::make_unique<RestoreSource>(state_); }
  const RestorationState& restoration() const { return state_.restoration; }

  // Reading the frame, as far as a StateMachine does not.
  const PoolConfig& config() const { return state_.frame.config; }
  bool configured() const { return state_.frame.configured; }
  bool shutting_down() const { return state_.frame.shutting_down; }
  bool drained() const { return shutting_down() && keys_.idle(); }
  const MachineStats& stats() const { return context_.stats; }

  // Reading the parts.
  const std::map<std::uint64_t, DueAnswer>& answers() const { return state_.answers.by_ticket; }
  const std::map<std::uint64_t, std::uint64_t>& answer_order() const { return state_.answers.by_order; }  // -> ticket
  const std::map<Bytes, Source, std::less<>>& sources() const { return state_.sources.by_name; }
  const WorkerTable& workers() const { return state_.keys.workers; }
  const std::map<std::uint64_t, DeadLetter>& dead() const { return state_.keys.dead; }
  BytesView dead_payload(const DeadLetter& letter) const { return state_.keys.table.jobs[letter.job].payload; }
  BytesView dead_type(const DeadLetter& letter) const {
    return state_.keys.types.name(state_.keys.table.jobs[letter.job].type);
  }
  // How often it was tried. The last attempt of a job that is buried before the limit is not counted in the state.
  std::uint32_t dead_attempts(const DeadLetter& letter) const {
    const KeptJob& job = state_.keys.table.jobs[letter.job];
    const std::uint32_t limit = job.max_attempts != 0 ? job.max_attempts : context_.config().max_attempts;
    return letter.epoch == 0 || job.attempts >= limit ? job.attempts : job.attempts + 1U;
  }
  const std::deque<PastTenure>& past_tenures() const { return state_.keys.past; }  // the last ones, oldest first
  std::uint32_t queued() const { return state_.keys.queued; }
  std::uint64_t choice_round() const { return state_.keys.choice_round; }
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
  void each_ticket(const std::function<void(const TicketView&)>& visit) const override { keys_.each_ticket(visit); }

 private:
  void apply_record(const v1::Record& record);
  void advance_time(std::int64_t engine_ms);
  void fire_timers();
  void settle();
  void join(const v1::Join& record);
  void end_session(const std::optional<EndedSession>& ended);
  void configure(const v1::Configure& record);
  void create(std::uint32_t speaks);
  void set_version(std::uint32_t version);
  void switch_version(const v1::SwitchVersion& record);
  void put_back(const v1::Restore& record);
  void on_source(const v1::Record& record);
  void begin_shutdown();
  void check_end();

  Decoder decoder_;
  MachineState state_;
  Context context_{speaks(), state_.frame, state_.sessions, answers_, keys_};
  Answers answers_{state_.answers, context_};
  Sessions sessions_{state_.sessions, context_};
  Keys keys_{state_.keys, context_};
  Sources sources_{state_.sources, context_};
  Restoration restoration_{state_.restoration, state_.frame, context_, keys_.restorer(), sources_};
  bool told_drained_ = false;  // between entries: drained()
  bool snapshot_under_way_ = false;
};

}  // namespace tenure

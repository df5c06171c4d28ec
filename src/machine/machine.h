#pragma once

// The keyed pool as a deterministic state machine: apply(entry) takes the state at one position of the log to the
// state at the next, and says through Effects what follows. It is pure: no clock, no I/O, no threads, no randomness.
// Every node that has applied the same entries has the same state, the same digest, and said the same.
//
// The rules, by file:
//   machine.cc            an entry: log time, timers, repetitions, records in order
//   machine_members.cc    sessions and workers: join, beat, expire, end, drain, serve; versions
//   machine_dispatch.cc   what users ask: dispatch, notify, stop, dead letters, shutdown
//   machine_tenure.cc     what holders say: started, released, done, failed, checkpoint; what a death leaves behind
//   machine_place.cc      who should hold which key; queues, grants and moves
//   machine_answers.cc    what is told to dispatchers
//   machine_snapshot.cc   the state as bytes; machine_restore.cc and machine_consistent.cc: and back
//
// Not thread-safe: a machine belongs to one loop.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/config.h"
#include "machine/decode.h"
#include "machine/effects.h"
#include "machine/keys/key_table.h"
#include "machine/keys/worker_table.h"
#include "machine/limits.h"
#include "machine/senders.h"
#include "machine/sessions/session_table.h"
#include "machine/timers.h"

namespace tenure {

namespace v1 {
class AddWorker;
class Answer;
class Beat;
class Checkpoint;
class Choose;
class Configure;
class Dispatch;
class Done;
class Drain;
class DropDead;
class End;
class Expire;
class Failed;
class Item;
class Join;
class Notified;
class Notify;
class Record;
class Released;
class RemoveWorker;
class Rest;
class RetryDead;
class Serve;
class SnapshotChunk;
class Started;
class Stop;
class SwitchVersion;
}  // namespace v1

struct EntryView {
  std::uint64_t position;
  std::int64_t time_ms;  // the engine's
  BytesView data;
};

struct DeadLetter {
  Bytes key;
  JobKind kind = JobKind::task;
  bool quarantined = false;
  JobId job = kNone;
  std::uint64_t epoch = 0;  // of its last tenure
  std::int64_t since_ms = 0;
  Bytes error;
};

// A tenure of a resident that has ended. No rule asks for it; people do.
struct PastTenure {
  Bytes key;
  Bytes worker;
  std::uint64_t epoch = 0;
  std::int64_t started_ms = 0;  // the engine's time, as that of the end; zero if it did not start
  std::int64_t ended_ms = 0;
  TenureEnd why{};
  bool quarantined = false;
};

// What is to be said in the log for a dispatcher that keeps no state.
struct DueAnswer {
  std::uint64_t order = 0;
  TicketState state = TicketState::accepted;
  Errc code{};
  std::uint64_t epoch = 0;
  Bytes worker;
  Bytes text;
};

struct JobInfo {
  BytesView key;
  JobKind kind;
  JobState state;
  BytesView worker;  // the holder, or empty
  std::uint64_t session;
  std::uint64_t epoch;
  std::uint32_t attempt;
  std::int64_t since_ms;    // log time
  std::int64_t started_ms;  // the engine's time; zero if it has not
  Past past;
  std::uint64_t ticket;
  bool say;
  BytesView payload;
  bool has_checkpoint;
  BytesView checkpoint;
};

struct TicketView {
  std::uint64_t ticket;
  TicketState state;  // accepted, started or failed; of a task that is held the state does not tell whether it started
  std::uint64_t epoch;
  BytesView worker;
  BytesView error;
};

struct MachineStats {
  std::uint64_t entries = 0;
  std::uint64_t entries_skipped = 0;  // broken, foreign, or of an unknown format
  std::uint64_t batches_repeated = 0;
  std::uint64_t records = 0;
  std::uint64_t records_unknown = 0;
  std::uint64_t records_refused = 0;
  std::uint64_t grants = 0;
  std::uint64_t moves = 0;
  std::uint64_t dead_dropped = 0;
};

class SnapshotSource;

class Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void apply(const EntryView& entry, Effects& effects) { apply(entry, decoder_.decode(entry.data), effects); }
  // The same, where a Decoder has read the entry's bytes already, be it on another thread.
  void apply(const EntryView& entry, const v1::Batch* batch, Effects& effects);

  // A chain over every decision made so far: equal on all nodes at equal positions. Constant time.
  std::uint64_t digest() const { return digest_; }
  // A digest of the state itself, from scratch. For tests and for judging a restored snapshot.
  std::uint64_t state_digest() const;

  // The state as of now, in chunks. The machine may go on applying while the chunks are taken, and every chunk
  // costs little; at most one snapshot is under way.
  std::unique_ptr<SnapshotSource> begin_snapshot();
  // Replaces the state. On an error the machine is as new.
  Status restore(const std::vector<Bytes>& chunks);

  // Reading the state.
  std::uint64_t position() const { return position_; }
  std::uint32_t version() const { return version_; }
  std::int64_t log_time_ms() const { return log_time_ms_; }
  std::int64_t engine_ms() const { return engine_ms_; }  // of the last entry, for people
  std::uint64_t epoch_last() const { return epoch_; }
  const PoolConfig& config() const { return config_; }
  const SessionTable& sessions() const { return sessions_; }
  const WorkerTable& workers() const { return workers_; }
  const MachineStats& stats() const { return stats_; }
  const std::map<std::uint64_t, DeadLetter>& dead() const { return dead_; }
  const std::deque<PastTenure>& past_tenures() const { return past_; }            // the last ones, oldest first
  const std::map<std::uint64_t, DueAnswer>& answers() const { return answers_; }  // by ticket
  const std::map<std::uint64_t, std::uint64_t>& answer_order() const { return answer_order_; }  // order -> ticket
  std::uint64_t last_sequence(std::uint64_t sender) const { return senders_.last(sender); }
  std::uint32_t queued() const { return queued_; }
  std::uint32_t keys() const { return table_.slots.live(); }
  bool configured() const { return configured_; }
  bool shutting_down() const { return shutting_down_; }
  bool drained() const { return shutting_down_ && table_.slots.live() == 0; }
  bool gone() const { return gone_; }
  std::optional<std::int64_t> next_due_ms() const;
  std::optional<JobInfo> find(BytesView key) const;
  // Calls `visit` for slots from `from` on until it returns false; returns where to go on, or kNone at the end.
  SlotId each_job(SlotId from, const std::function<bool(const JobInfo&)>& visit) const;
  // What the job's holder has not handled yet.
  void each_message(BytesView key, const std::function<void(std::uint64_t, BytesView)>& visit) const;
  // The tickets of all jobs, waiting, held and dead, and of those who wait for one to stop.
  void each_ticket(const std::function<void(const TicketView&)>& visit) const;
  BytesView dead_payload(const DeadLetter& letter) const { return table_.jobs[letter.job].payload; }
  // What a snapshot would weigh, roughly: keys, payloads, checkpoints and messages, and what goes with each key and
  // job.
  std::uint64_t state_bytes() const {
    return state_bytes_ + std::uint64_t{table_.slots.live()} * 64 + std::uint64_t{table_.jobs.live()} * 32;
  }

 private:
  friend class SnapshotSource;

  // machine.cc
  void apply_record(const v1::Record& record);
  void advance_time(std::int64_t engine_ms);
  void fire_timers();
  void fire(const MachineTimer& timer);
  void time_out_start(SlotId slot);
  At at() const { return {position_, engine_ms_}; }
  void note(std::uint64_t word) { digest_ = hash_mix(digest_, word); }
  std::uint64_t engine_us() const;
  std::uint64_t next_epoch(std::uint64_t session);
  void configure(const v1::Configure& record);
  void refuse_record() { ++stats_.records_refused; }

  // machine_members.cc
  void on(const v1::Join& record);
  void on(const v1::Beat& record);
  void on(const v1::Expire& record);
  void on(const v1::End& record);
  void on(const v1::AddWorker& record);
  void on(const v1::RemoveWorker& record);
  void on(const v1::Drain& record);
  void on(const v1::Serve& record);
  void on(const v1::SwitchVersion& record);
  void end_session(std::uint64_t id, SessionEnd how);
  void remove_worker(WorkerIx ix, TenureEnd why, std::uint32_t on_trial);
  void set_serves(WorkerIx ix, BytesView key, bool serves);

  // machine_dispatch.cc
  void on(const v1::Dispatch& record);
  void on(const v1::Notify& record);
  void on(const v1::Stop& record);
  void on(const v1::RetryDead& record);
  void on(const v1::DropDead& record);
  void on_shutdown();
  Errc judge(const v1::Dispatch& record, SlotId slot) const;
  void stop_job(SlotId slot, std::uint64_t ticket, bool say);
  void drop_waiting_tasks(SlotId slot);
  void trim_oldest();
  void undelay_all(SlotId slot);
  bool is_stopping(SlotId slot) const;
  void check_shutdown();

  // machine_tenure.cc
  void on(const v1::Started& record);
  void on(const v1::Released& record);
  void on(const v1::Done& record);
  void on(const v1::Failed& record);
  void on(const v1::Checkpoint& record);
  void on(const v1::Notified& record);
  SlotId held_slot(BytesView key, std::uint64_t epoch) const;
  void end_tenure(SlotId slot, TenureEnd why);
  void remember(PastTenure tenure);
  void orphan(SlotId slot, TenureEnd why, std::uint32_t on_trial);
  bool blame(SlotId slot, std::uint32_t on_trial);
  void fail_job(SlotId slot, int next, BytesView error, std::int64_t delay_ms);
  void bury(SlotId slot, bool quarantined, BytesView error);
  void drop_oldest_dead_task();
  void finish_head(SlotId slot);
  void settle_stop(KeptJob& job);
  bool is_settled(SlotId slot) const;
  static std::int64_t solo_ms(const KeptJob& job);
  void next_job(SlotId slot);
  std::int64_t backoff_ms(const Slot& slot, const KeptJob& job) const;

  // machine_place.cc
  void on(const v1::Choose& record);
  WorkerIx choose(SlotId slot) const;
  WorkerIx server_of(SlotId slot) const;
  void retarget(SlotId slot, WorkerIx target);
  void retarget_all();
  void worker_opened(WorkerIx ix, WorkerIx replaced, bool inherits);
  void worker_closed(WorkerIx ix);
  void refresh_open();
  void enqueue(SlotId slot);
  void mark(WorkerIx ix);
  void settle_queues();
  void pump(WorkerIx ix);
  void grant_from(std::deque<QueueItem>& queue, WorkerIx ix, const std::function<bool()>& has_room);
  void grant(SlotId slot, WorkerIx ix, bool trial);
  void start_moves(WorkerIx ix);
  bool valid(const QueueItem& item, JobState state) const;
  bool last_chance(const KeptJob& job) const;
  std::uint32_t on_trial(std::uint64_t session) const;
  void pump_last_chances(WorkerIx ix);
  void end_solo(SlotId slot);
  static void acquit(KeptJob& job);
  void set_state(SlotId slot, JobState state);
  void set_timer(SlotId slot, TimerKind kind, std::int64_t due_ms);
  void ask_stop(SlotId slot, StopReason reason);
  TenureRef tenure_ref(SlotId slot) const;

  // machine_answers.cc
  void on(const v1::Answer& record);
  TicketView view_of(JobId id) const;
  void tell(std::uint64_t ticket, bool say, const Settlement& settlement);
  void accept(std::uint64_t ticket, bool say, SlotId slot);
  void refuse(std::uint64_t ticket, bool say, Errc code);
  void repeat_answers();
  void tell_failed(const KeptJob& job, std::uint64_t epoch, BytesView error);

  // machine_snapshot.cc
  void touch(SlotId slot);
  void release_job(JobId job);
  void each_slot_item(SlotId slot, const std::function<void(const Bytes&)>& take) const;
  void encode_job(JobId job, v1::Item& scratch, Bytes& into) const;
  void each_dead_item(const std::function<void(const Bytes&)>& take) const;
  Bytes save_rest() const;
  bool load_rest(const v1::Rest& rest, std::uint64_t items);
  bool load_item(const v1::Item& item);
  // machine_consistent.cc
  bool consistent() const;
  bool numbers_fit() const;
  bool lists_fit() const;
  bool members_fit() const;
  bool served_fit() const;
  bool holders_fit() const;
  bool timers_fit() const;
  bool dead_fit() const;

  Decoder decoder_;
  Effects* effects_ = nullptr;  // only while applying

  // The state. All of it is in the snapshot and in state_digest().
  std::uint64_t position_ = 0;
  std::uint64_t digest_ = 0;
  std::uint32_t version_ = 1;
  std::int64_t engine_ms_ = 0;
  std::int64_t log_time_ms_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t stamps_ = 0;
  std::uint32_t queued_ = 0;  // jobs never held so far
  bool configured_ = false;
  bool shutting_down_ = false;
  bool gone_ = false;
  PoolConfig config_;
  SessionTable sessions_;
  WorkerTable workers_;
  KeyTable table_;
  MachineTimers timers_;
  Senders senders_;
  std::map<Bytes, std::vector<WorkerIx>, std::less<>> served_;  // by key; the last one counts
  std::map<std::uint64_t, DeadLetter> dead_;
  std::uint64_t dead_tasks_ = 0;
  std::deque<PastTenure> past_;
  std::map<std::uint64_t, DueAnswer> answers_;           // by ticket
  std::map<std::uint64_t, std::uint64_t> answer_order_;  // order -> ticket
  std::uint64_t answer_orders_ = 0;

  // Derived, or about this process only.
  std::vector<WorkerIx> open_;      // open workers, eldest first
  std::vector<Place> open_places_;  // the same
  std::vector<WorkerIx> dirty_;     // empty between records
  bool told_drained_ = false;       // between records: drained()
  std::uint64_t state_bytes_ = 0;
  MachineStats stats_;
  SnapshotSource* snapshot_ = nullptr;
  std::uint32_t snapshots_ = 0;
};

// A snapshot under way. Must not outlive its machine. A key that is about to change before its turn has come is
// saved first, so that the snapshot is of one position whatever is applied meanwhile.
class SnapshotSource {
 public:
  ~SnapshotSource();
  // The next chunk, made from a bounded number of keys; nothing at the end.
  std::optional<Bytes> next();
  std::uint64_t position() const { return position_; }

 private:
  friend class Machine;
  SnapshotSource(Machine& machine, std::uint32_t id);
  void save(SlotId slot);
  void add(const Bytes& item);
  void add_part(const v1::SnapshotChunk& part);
  void cut();

  Machine& machine_;
  std::uint32_t id_;
  std::uint64_t position_;
  SlotId at_ = 0;
  SlotId end_;
  Bytes chunk_;  // encoded; parts of a message may stand in any order
  std::deque<Bytes> ready_;
  std::uint64_t items_ = 0;
  std::uint64_t sum_ = 0;
  bool done_ = false;
};

}  // namespace tenure

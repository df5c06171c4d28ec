#include "machine/machine.h"

#include <algorithm>

#include "base/assert.h"
#include "base/mutant.h"
#include "tenure/v1/record.pb.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure {

Machine::Machine() = default;

Machine::~Machine() { ASSERT(snapshot_ == nullptr); }

void Machine::apply(const EntryView& entry, const v1::Batch* batch, Effects& effects) {
  ASSERT(entry.position > position_);
  effects_ = &effects;
  position_ = entry.position;
  ++stats_.entries;
  advance_time(entry.time_ms);
  fire_timers();

  if (batch == nullptr) {
    ++stats_.entries_skipped;
  } else if (!senders_.accept(batch->sender(), batch->sequence(), log_time_ms_)) {
    ++stats_.batches_repeated;
  } else {
    for (const v1::Record& record : batch->records()) {
      apply_record(record);
      settle_queues();
    }
  }
  note(position_);
  effects_ = nullptr;
}

void Machine::apply_record(const v1::Record& record) {
  ++stats_.records;
  switch (record.kind_case()) {
    case v1::Record::kJoin: return on(record.join());
    case v1::Record::kBeat: return on(record.beat());
    case v1::Record::kExpire: return on(record.expire());
    case v1::Record::kEnd: return on(record.end());
    case v1::Record::kAddWorker: return on(record.add_worker());
    case v1::Record::kRemoveWorker: return on(record.remove_worker());
    case v1::Record::kDrain: return on(record.drain());
    case v1::Record::kServe: return on(record.serve());
    case v1::Record::kChoose: return on(record.choose());
    case v1::Record::kDispatch: return on(record.dispatch());
    case v1::Record::kNotify: return on(record.notify());
    case v1::Record::kStop: return on(record.stop());
    case v1::Record::kRetryDead: return on(record.retry_dead());
    case v1::Record::kDropDead: return on(record.drop_dead());
    case v1::Record::kStarted: return on(record.started());
    case v1::Record::kReleased: return on(record.released());
    case v1::Record::kDone: return on(record.done());
    case v1::Record::kFailed: return on(record.failed());
    case v1::Record::kCheckpoint: return on(record.checkpoint());
    case v1::Record::kNotified: return on(record.notified());
    case v1::Record::kTick: return;
    case v1::Record::kAnswer: return on(record.answer());
    case v1::Record::kConfigure: return configure(record.configure());
    case v1::Record::kSwitchVersion: return on(record.switch_version());
    case v1::Record::kShutdown: return on_shutdown();
    case v1::Record::kSaved: return effects_->saved(at(), record.saved().position());
    case v1::Record::kAsk: return effects_->asked(at(), record.ask());
    case v1::Record::kTold: return;
    case v1::Record::KIND_NOT_SET: ++stats_.records_unknown; return;
  }
}

void Machine::advance_time(std::int64_t engine_ms) {
  if (engine_ms > engine_ms_) {
    // The first entry sets the origin: the span before it was nobody's.
    if (engine_ms_ != 0) log_time_ms_ += std::min(engine_ms - engine_ms_, kLogTimeStepMsMax);
    engine_ms_ = engine_ms;
  }
}

void Machine::fire_timers() {
  for (std::size_t fired = 0; fired < kTimersPerEntryMax; ++fired) {
    if (timers_.empty() || timers_.begin()->due_ms > log_time_ms_) return;
    const MachineTimer timer = *timers_.begin();
    timers_.erase(timers_.begin());
    fire(timer);
    settle_queues();
  }
}

void Machine::fire(const MachineTimer& timer) {
  note(timer.stamp);
  if (timer.kind == TimerKind::delay) {
    KeptJob& job = table_.jobs[timer.id];
    ASSERT(job.stamp == timer.stamp);
    const SlotId slot = job.slot;
    touch(slot);
    // Out of the delayed tasks, to the end of the key's list.
    table_.take_delayed(slot, timer.id);
    table_.push_back(slot, timer.id);
    if (table_.slots[slot].state == JobState::idle) next_job(slot);
    return;
  }
  const SlotId slot = timer.id;
  ASSERT(table_.slots[slot].stamp == timer.stamp);
  touch(slot);
  table_.slots[slot].due_ms = 0;
  switch (timer.kind) {
    case TimerKind::start_timeout: return time_out_start(slot);
    case TimerKind::retry:
      set_state(slot, JobState::queued);
      enqueue(slot);
      return;
    case TimerKind::solo: acquit(table_.head(slot)); return end_solo(slot);
    case TimerKind::delay: break;
  }
  ASSERT(false);
}

// The start takes too long. The holder gives the key back, and another try is made; unless it was to be stopped
// anyway.
void Machine::time_out_start(SlotId slot) {
  const WorkerIx holder = table_.placed[slot].holder;
  --workers_[holder].starting;
  mark(holder);
  if (table_.slots[slot].stop_wanted) {
    set_state(slot, JobState::stopping);
  } else {
    ++workers_[holder].moving;
    set_state(slot, JobState::moving);
  }
  ask_stop(slot, StopReason::start_timeout);
}

std::uint64_t Machine::engine_us() const {
  constexpr auto kEngineMsMax = static_cast<std::int64_t>(kEpochFloorMax / 1000);
  return static_cast<std::uint64_t>(std::min(engine_ms_, kEngineMsMax)) * 1000;
}

// Epochs only grow, and no two grants of a pool share one: those of a shard leave its number when they are divided by
// the number of shards. Starting from the engine's time makes them go on above all earlier ones when the log itself
// lost its tail, or was removed and made anew. The engine counts in milliseconds: what is left of the microseconds
// comes from the holder's session, so that two logs, of which one has replaced the other, hardly ever give the same
// epoch at a time.
std::uint64_t Machine::next_epoch(std::uint64_t session) {
  const std::uint64_t floor = MUTANT(epoch_from_position) ? position_ : engine_us() + hash_mix(session, 0) % 1000;
  const Shard& shard = config_.shard;
  epoch_ = std::max(epoch_ + 1, floor);
  epoch_ += (shard.index + shard.count - epoch_ % shard.count) % shard.count;
  return epoch_;
}

void Machine::configure(const v1::Configure& record) {
  configured_ = true;
  PoolConfig& config = config_;
  if (record.max_queued_jobs() != 0) config.max_queued_jobs = record.max_queued_jobs();
  if (record.max_attempts() != 0) config.max_attempts = std::min<std::uint32_t>(record.max_attempts(), UINT16_MAX);
  const auto span = [](std::uint64_t ms, std::int64_t& into) {
    if (ms != 0) into = static_cast<std::int64_t>(std::min(ms, kDelayMsMax));
  };
  span(record.pending_job_ttl_ms(), config.pending_job_ttl_ms);
  span(record.worker_shutdown_ttl_ms(), config.worker_shutdown_ttl_ms);
  span(record.backoff_base_ms(), config.backoff_base_ms);
  span(record.backoff_cap_ms(), config.backoff_cap_ms);
  if (record.quarantine_after_plus_one() != 0) config.quarantine_after = record.quarantine_after_plus_one() - 1;
  if (record.shard() < record.shards() && record.shards() <= kShardsMax) {
    config.shard = {record.shard(), record.shards()};
  }
  const auto before = config.assignment;
  switch (record.assignment()) {
    case v1::Configure::RENDEZVOUS: config.assignment = Assignment::rendezvous; break;
    case v1::Configure::JUMP: config.assignment = Assignment::jump; break;
    case v1::Configure::CHOSEN: config.assignment = Assignment::chosen; break;
    default: break;  // unset, or newer than this version: kept as it is
  }
  if (config.assignment != before) {
    retarget_all();
    if (config.assignment == Assignment::chosen) effects_->choices_due(at());
  }
}

std::optional<std::int64_t> Machine::next_due_ms() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->due_ms;
}

std::optional<JobInfo> Machine::find(BytesView key) const {
  const SlotId slot = table_.find(key);
  if (slot == kNone) return std::nullopt;
  std::optional<JobInfo> found;
  each_job(slot, [&](const JobInfo& info) {
    found = info;
    return false;
  });
  return found;
}

SlotId Machine::each_job(SlotId from, const std::function<bool(const JobInfo&)>& visit) const {
  for (SlotId id = from; id < table_.slots.end(); ++id) {
    const Slot& slot = table_.slots[id];
    if (!slot.live) continue;
    static const KeptJob kNothing;
    const KeptJob& job = slot.head == kNone ? kNothing : table_.jobs[slot.head];
    const WorkerIx holder = table_.placed[id].holder;
    const bool checkpoint = job.extra && job.extra->has_checkpoint;
    const JobInfo info{slot.key,
                       slot.kind,
                       slot.state,
                       holder == kNone ? BytesView() : BytesView(workers_[holder].id),
                       holder == kNone ? 0 : workers_[holder].session,
                       slot.epoch,
                       std::uint32_t{job.attempts} + 1,
                       slot.since_ms,
                       slot.started_ms,
                       slot.past,
                       job.ticket,
                       job.say,
                       job.payload,
                       checkpoint,
                       checkpoint ? BytesView(job.extra->checkpoint) : BytesView()};
    if (!visit(info)) return id + 1;
  }
  return kNone;
}

TicketView Machine::view_of(JobId id) const {
  const KeptJob& job = table_.jobs[id];
  const WorkerIx holder = job.slot == kNone ? kNone : table_.placed[job.slot].holder;
  if (holder == kNone || table_.slots[job.slot].head != id) return {job.ticket, TicketState::accepted, 0, {}, {}};
  const Slot& slot = table_.slots[job.slot];
  const bool runs = slot.kind == JobKind::resident && slot.state == JobState::running;
  const TicketState state = runs ? TicketState::started : TicketState::accepted;
  return {job.ticket, state, slot.epoch, workers_[holder].id, {}};
}

void Machine::each_ticket(const std::function<void(const TicketView&)>& visit) const {
  for (const auto& [id, letter] : dead_) {
    visit({table_.jobs[letter.job].ticket, TicketState::failed, letter.epoch, {}, letter.error});
  }
  for (JobId id = 0; id < table_.jobs.end(); ++id) {
    const KeptJob& job = table_.jobs[id];
    if (job.ticket == 0) continue;
    visit(view_of(id));
    if (!job.extra) continue;
    for (const std::uint64_t ticket : job.extra->stop_tickets) visit({ticket, TicketState::accepted, 0, {}, {}});
    for (const std::uint64_t ticket : job.extra->stop_says) visit({ticket, TicketState::accepted, 0, {}, {}});
  }
}

void Machine::each_message(BytesView key, const std::function<void(std::uint64_t, BytesView)>& visit) const {
  const SlotId slot = table_.find(key);
  if (slot == kNone || table_.slots[slot].head == kNone) return;
  const KeptJob& job = table_.jobs[table_.slots[slot].head];
  if (!job.extra) return;
  for (const Message& message : job.extra->messages) visit(message.number, message.text);
}

}  // namespace tenure

#include "machine/keys/keys.h"

#include "base/assert.h"
#include "base/mutant.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

Keys::Keys(KeysState& state, Context& context)
    : state_(state),
      context_(context),
      slots_(state, context),
      blame_(state, context),
      fitness_(state, context),
      queues_(state, context, slots_, fitness_),
      ranks_(state, context),
      placement_(state, context, slots_, queues_, ranks_),
      probation_(state, context, fitness_, queues_, placement_),
      line_(state, context, slots_, queues_, placement_),
      dead_(state, context, slots_, line_, placement_),
      starts_(state, context, slots_, fitness_, queues_, line_, placement_, probation_, dead_),
      tenures_(state, context, slots_, blame_, queues_, line_, dead_, starts_),
      requests_(state, context, slots_, queues_, line_, placement_, dead_),
      partitions_(state, context, slots_, ranks_, placement_, requests_),
      surge_(state, context, ranks_, placement_),
      workers_(state, context, slots_, blame_, ranks_, placement_, probation_, tenures_, partitions_) {}

void Keys::on(const v1::Record& record) {
  switch (record.kind_case()) {
    case v1::Record::kAddWorker: return workers_.on(record.add_worker());
    case v1::Record::kAddTaker: return workers_.on_taker(record.add_taker());
    case v1::Record::kAddRanked: return workers_.on_ranked(record.add_ranked());
    case v1::Record::kSetPartitions: return partitions_.on(record.set_partitions());
    case v1::Record::kRemoveWorker: return workers_.on(record.remove_worker());
    case v1::Record::kDrain: return workers_.on(record.drain());
    case v1::Record::kServe: return workers_.on(record.serve());
    case v1::Record::kChoose: return placement_.on(record.choose());
    case v1::Record::kDispatch: return requests_.on(record.dispatch());
    case v1::Record::kNotify: return requests_.on(record.notify());
    case v1::Record::kStop: return requests_.on(record.stop());
    case v1::Record::kRetryDead: return dead_.on(record.retry_dead());
    case v1::Record::kDropDead: return dead_.on(record.drop_dead());
    case v1::Record::kStarted: return tenures_.on(record.started());
    case v1::Record::kReleased:
      tenures_.on(record.released());
      if (record.released().has_blob()) surge_.review();
      return;
    case v1::Record::kDone: return tenures_.on(record.done());
    case v1::Record::kFailed: return tenures_.on(record.failed());
    case v1::Record::kCheckpoint:
      if (const SlotId slot = tenures_.on(record.checkpoint()); slot != kNone) surge_.reported(slot);
      return;
    case v1::Record::kNotified: return tenures_.on(record.notified());
    default: ASSERT(false);  // belongs to another part
  }
}

void Keys::fire(const MachineTimer& timer) {
  if (timer.kind == TimerKind::delay) return line_.delay_over(timer);
  if (timer.kind == TimerKind::fitness) return starts_.fire(timer);
  if (timer.kind == TimerKind::settle) return workers_.settled(timer);
  const SlotId slot = timer.id;
  ASSERT(state_.table.slots[slot].stamp == timer.stamp);
  slots_.touch(slot);
  state_.table.slots[slot].due_ms = 0;
  switch (timer.kind) {
    case TimerKind::start_timeout: return tenures_.time_out_start(slot);
    case TimerKind::retry: return end_wait(slot);
    case TimerKind::delay:
    case TimerKind::fitness:
    case TimerKind::settle: break;
  }
  ASSERT(false);
}

// The delay, or the pause before the next attempt, is over.
void Keys::end_wait(SlotId slot) {
  KeptJob& job = state_.table.head(slot);
  if (job.progress == Progress::delayed) slots_.set_progress(job, Progress::queued);
  slots_.set_state(slot, JobState::queued);
  queues_.enqueue(slot);
}

void Keys::begin_shutdown() {
  for (SlotId slot = 0; slot < state_.table.slots.end(); ++slot) {
    if (state_.table.slots[slot].live) shut_down(slot);
  }
  dead_.forget_all();
  workers_.open_drained();
}

void Keys::forget_types() {
  if (state_.types.empty()) return;
  KeyTable& table = state_.table;
  for (SlotId slot = 0; slot < table.slots.end(); ++slot) {
    if (!table.slots[slot].live) continue;
    slots_.touch(slot);
    for (const JobId first : {table.slots[slot].head, table.slots[slot].delayed}) {
      for (JobId job = first; job != kNone; job = table.jobs[job].next) table.jobs[job].type = kNoType;
    }
  }
  state_.types.clear();
}

void Keys::shut_down(SlotId slot) {
  slots_.touch(slot);
  line_.end_delays(slot);
  const Slot& entry = state_.table.slots[slot];
  const bool resident = entry.kind == JobKind::resident;
  switch (entry.state) {
    case JobState::idle:
      if (entry.head != kNone) line_.next_job(slot);
      return;
    case JobState::waiting: return resident ? drop_resident(slot) : end_wait(slot);
    case JobState::running:
      if (!resident) return;
      slots_.set_state(slot, JobState::stopping);
      return slots_.ask_stop(slot, StopReason::shutdown);
    case JobState::moving:
      if (!resident) return;
      --state_.workers[state_.table.placed[slot].holder].moving;
      return slots_.set_state(slot, JobState::stopping);
    case JobState::starting: return queues_.stop_start(slot, StopReason::shutdown);
    case JobState::dead:
    case JobState::quarantined: return line_.finish_head(slot);
    case JobState::queued:
      if (resident && !MUTANT(shutdown_starts_residents)) drop_resident(slot);
      return;
    case JobState::stopping: return;
  }
}

// One that nobody holds will not be started any more.
void Keys::drop_resident(SlotId slot) {
  KeptJob& job = state_.table.head(slot);
  slots_.tell_stopped(job, state_.table.slots[slot].epoch);
  slots_.tell_stoppers(job);
  line_.finish_head(slot);
}

void Keys::restored() {
  state_.table.rebuild();
  ranks_.rebuild();
  Moves::count_wanted(state_);
  placement_.refresh_open();
  slots_.forget_snapshots();
}

bool Keys::holds(BytesView key, std::uint64_t epoch) const {
  const SlotId slot = state_.table.find(key);
  if (slot == kNone || state_.table.slots[slot].kind != JobKind::resident) return false;
  return state_.table.placed[slot].holder != kNone && state_.table.slots[slot].epoch == epoch;
}

void Keys::set_checkpoint(BytesView key, const Bytes& data) {
  const SlotId slot = state_.table.find(key);
  slots_.touch(slot);
  tenures_.set_checkpoint(slot, data);
}

std::optional<JobInfo> Keys::find(BytesView key) const {
  const SlotId slot = state_.table.find(key);
  if (slot == kNone) return std::nullopt;
  return info_of(slot);
}

SlotId Keys::each_job(SlotId from, const std::function<bool(const JobInfo&)>& visit) const {
  for (SlotId id = from; id < state_.table.slots.end(); ++id) {
    if (state_.table.slots[id].live && !visit(info_of(id))) return id + 1;
  }
  return kNone;
}

JobInfo Keys::info_of(SlotId id) const {
  static const KeptJob kNothing;
  const Slot& slot = state_.table.slots[id];
  const KeptJob& job = slot.head == kNone ? kNothing : state_.table.jobs[slot.head];
  const auto [hash, target, holder] = state_.table.placed[id];
  const bool checkpoint = job.extra && job.extra->has_checkpoint;
  return {.key = slot.key,
          .kind = slot.kind,
          .type = state_.types.name(job.type),
          .state = slot.state,
          .worker = holder == kNone ? BytesView() : BytesView(state_.workers[holder].id),
          .target = target == kNone ? BytesView() : BytesView(state_.workers[target].id),
          .served = placement_.served(id),
          .session = holder == kNone ? 0 : state_.workers[holder].session,
          .epoch = slot.epoch,
          .attempt = std::uint32_t{job.attempts} + 1,
          .since_ms = slot.since_ms,
          .due_ms = slot.due_ms,
          .started_ms = slot.started_ms,
          .past = slot.past,
          .ticket = job.ticket,
          .answer_in_log = job.answer_in_log,
          .payload = job.payload,
          .has_checkpoint = checkpoint,
          .checkpoint = checkpoint ? BytesView(job.extra->checkpoint) : BytesView(),
          .error = job.extra ? BytesView(job.extra->error) : BytesView(),
          .lent = slot.lent};
}

TicketView Keys::view_of(JobId id) const {
  const KeptJob& job = state_.table.jobs[id];
  const WorkerIx holder = job.slot == kNone ? kNone : state_.table.placed[job.slot].holder;
  if (holder == kNone || state_.table.slots[job.slot].head != id) {
    return {job.ticket, TicketState::accepted, 0, {}, {}};
  }
  const Slot& slot = state_.table.slots[job.slot];
  const bool runs = slot.kind == JobKind::resident && slot.state == JobState::running;
  const TicketState state = runs ? TicketState::started : TicketState::accepted;
  return {job.ticket, state, slot.epoch, state_.workers[holder].id, {}};
}

void Keys::each_ticket(const std::function<void(const TicketView&)>& visit) const {
  for (const auto& [id, letter] : state_.dead) {
    visit({state_.table.jobs[letter.job].ticket, TicketState::failed, letter.epoch, {}, letter.error});
  }
  for (JobId id = 0; id < state_.table.jobs.end(); ++id) {
    const KeptJob& job = state_.table.jobs[id];
    if (job.ticket == 0) continue;
    visit(view_of(id));
    if (!job.extra) continue;
    for (const std::uint64_t ticket : job.extra->stop_tickets) visit({ticket, TicketState::accepted, 0, {}, {}});
    for (const std::uint64_t ticket : job.extra->stop_says) visit({ticket, TicketState::accepted, 0, {}, {}});
    for (const Message& message : job.extra->messages) visit({message.ticket, TicketState::accepted, 0, {}, {}});
  }
}

void Keys::each_message(BytesView key, const std::function<void(std::uint64_t, BytesView)>& visit) const {
  const SlotId slot = state_.table.find(key);
  if (slot == kNone || state_.table.slots[slot].head == kNone) return;
  const KeptJob& job = state_.table.jobs[state_.table.slots[slot].head];
  if (!job.extra) return;
  for (const Message& message : job.extra->messages) visit(message.number, message.text);
}

}  // namespace tenure

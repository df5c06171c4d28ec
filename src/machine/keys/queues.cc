#include "machine/keys/queues.h"

#include <algorithm>

#include "base/assert.h"
#include "base/mutant.h"
#include "machine/limits.h"

namespace tenure {

void Queues::enqueue(SlotId slot) {
  const WorkerIx ix = state_.table.placed[slot].target;
  if (ix == kNone) return;
  WorkerQueues& queues = state_.queues[ix];
  const Slot& entry = state_.table.slots[slot];
  std::deque<QueueItem>& queue = suspects_.last_chance(state_.table.head(slot)) ? queues.last_chances
                                 : entry.kind == JobKind::task                  ? queues.tasks
                                                                                : queues.residents;
  queue.push_back({slot, entry.stamp});
  mark(ix);
}

void Queues::enqueue_move(SlotId slot) {
  const WorkerIx holder = state_.table.placed[slot].holder;
  state_.queues[holder].moves.push_back({slot, state_.table.slots[slot].stamp});
  mark(holder);
}

void Queues::mark(WorkerIx ix) {
  if (state_.queues[ix].dirty) return;
  state_.queues[ix].dirty = true;
  dirty_.push_back(ix);
}

void Queues::settle() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {  // NOLINT(modernize-loop-convert): it may grow meanwhile
    const WorkerIx ix = dirty_[i];
    state_.queues[ix].dirty = false;
    if (state_.workers[ix].live) pump(ix);
  }
  dirty_.clear();
}

// When all have passed, the next ones run, on any worker of the session.
void Queues::end_trial(SlotId slot) {
  if (!state_.table.slots[slot].solo) return;
  state_.table.slots[slot].solo = false;
  PoolWorker& holder = state_.workers[state_.table.placed[slot].holder];
  --holder.on_trial;
  if (suspects_.on_trial(holder.session) != 0) return;
  for (const WorkerIx ix : state_.workers.by_age) {
    if (state_.workers[ix].session == holder.session && !state_.queues[ix].last_chances.empty()) mark(ix);
  }
}

void Queues::stop_start(SlotId slot, StopReason reason) {
  const WorkerIx holder = state_.table.placed[slot].holder;
  --state_.workers[holder].starting;
  mark(holder);
  slots_.set_state(slot, JobState::stopping);
  slots_.ask_stop(slot, reason);
}

template <class HasRoom>
void Queues::grant_from(std::deque<QueueItem>& queue, WorkerIx ix, HasRoom has_room) {
  while (!queue.empty()) {
    const QueueItem item = queue.front();
    if (valid(item, JobState::queued)) {
      if (!has_room()) return;
      queue.pop_front();
      grant(item.slot, ix, false);
    } else {
      queue.pop_front();
    }
  }
}

void Queues::pump(WorkerIx ix) {
  start_moves(ix);
  PoolWorker& worker = state_.workers[ix];
  if (worker.draining) return;
  WorkerQueues& queues = state_.queues[ix];
  grant_from(queues.residents, ix, [&] { return worker.starting < kStartingMax; });
  grant_from(queues.tasks, ix, [&] { return worker.tasks_held < worker.window; });
  if (!queues.last_chances.empty() && suspects_.on_trial(worker.session) == 0) pump_last_chances(ix);
}

// One at a time would take days if a process has died twice with very many young keys. If several together kill their
// holder, it is unknown which of them did. They are tried again with fewer, and in the end alone.
void Queues::pump_last_chances(WorkerIx ix) {
  PoolWorker& worker = state_.workers[ix];
  std::deque<QueueItem>& waiting = state_.queues[ix].last_chances;
  std::size_t most = std::clamp<std::size_t>(waiting.size() / kTrialShare, 1, kTrialMax);
  for (std::size_t granted = 0; !waiting.empty();) {
    const QueueItem item = waiting.front();
    if (valid(item, JobState::queued)) {
      const JobExtra* extra = state_.table.head(item.slot).extra.get();
      if (extra != nullptr && extra->together_max != 0) most = std::min<std::size_t>(most, extra->together_max);
      const bool room = worker.starting < kStartingMax && worker.tasks_held < worker.window;
      if (granted != 0 && (granted >= most || !room)) return;
      waiting.pop_front();
      grant(item.slot, ix, true);
      granted += state_.table.slots[item.slot].solo ? 1 : 0;  // raising the limit may have cleared it
    } else {
      waiting.pop_front();
    }
  }
}

bool Queues::valid(const QueueItem& item, JobState state) const {
  const Slot& slot = state_.table.slots[item.slot];
  return slot.live && slot.stamp == item.stamp && slot.state == state;
}

void Queues::grant(SlotId slot, WorkerIx ix, bool trial) {
  slots_.touch(slot);
  Slot& entry = state_.table.slots[slot];
  PoolWorker& worker = state_.workers[ix];
  ASSERT(state_.table.placed[slot].holder == kNone || MUTANT(grant_before_release) || MUTANT(tasks_overlap));
  KeptJob& job = state_.table.head(slot);
  state_.table.placed[slot].holder = ix;
  entry.epoch = context_.next_epoch(worker.session);
  entry.started_ms = 0;
  ++worker.keys_held;
  ++context_.stats.grants;
  // A change of the limit may have made it a suspect after it was queued. Others may be on trial then.
  if (suspects_.last_chance(job) && (trial || suspects_.on_trial(worker.session) == 0)) {
    entry.solo = true;
    ++worker.on_trial;
  }
  if (entry.kind == JobKind::task) {
    ++worker.tasks_held;
    slots_.set_state(slot, JobState::running);
  } else {
    ++worker.starting;
    slots_.set_state(slot, JobState::starting);
    slots_.set_timer(slot, TimerKind::start_timeout, context_.log_time_ms() + context_.config().pending_job_ttl_ms);
  }
  const bool first = job.progress == Progress::queued;
  if (first) slots_.set_progress(job, MUTANT(granted_not_counted) ? Progress::begun : Progress::granted);
  context_.note(entry.epoch);
  context_.note(worker.age);
  const bool checkpoint = job.extra && job.extra->has_checkpoint && !MUTANT(checkpoint_not_restored);
  context_.effects().granted(context_.at(),
                             {.tenure = slots_.tenure(slot),
                              .kind = entry.kind,
                              .first = first,
                              .answer_in_log = job.answer_in_log,
                              .has_checkpoint = checkpoint,
                              .attempt = std::uint32_t{job.attempts} + 1,
                              .ticket = job.ticket,
                              .payload = job.payload,
                              .checkpoint = checkpoint ? BytesView(job.extra->checkpoint) : BytesView()});
}

void Queues::start_moves(WorkerIx ix) {
  PoolWorker& worker = state_.workers[ix];
  std::deque<QueueItem>& moves = state_.queues[ix].moves;
  while (!moves.empty() && worker.moving < kMovingMax) {
    const QueueItem item = moves.front();
    moves.pop_front();
    if (!valid(item, JobState::running) || state_.table.placed[item.slot].target == ix) continue;
    slots_.touch(item.slot);
    ++worker.moving;
    ++context_.stats.moves;
    slots_.set_state(item.slot, JobState::moving);
    slots_.ask_stop(item.slot, StopReason::move);
    if (MUTANT(grant_before_release)) {
      slots_.set_state(item.slot, JobState::queued);
      enqueue(item.slot);
    }
  }
}

}  // namespace tenure

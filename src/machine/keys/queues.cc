#include "machine/keys/queues.h"

#include <algorithm>

#include "base/assert.h"
#include "base/mutant.h"
#include "machine/limits.h"

namespace tenure {

void Queues::enqueue(SlotId slot) {
  const WorkerIx ix = state_.table.placed[slot].target;
  if (ix == kNone) return;
  const WorkerFitness& fitness = state_.workers[ix].fitness;
  if (fitness.unfit && fitness.probe != slot && !MUTANT(unfit_gets_keys)) return state_.strays.push_back(slot);
  WorkerQueues& queues = state_.queues[ix];
  const Slot& entry = state_.table.slots[slot];
  std::deque<QueueItem>& queue = entry.kind == JobKind::task ? queues.tasks : queues.residents;
  queue.push_back({slot, entry.stamp});
  mark(ix);
}

void Queues::enqueue_move(SlotId slot) {
  moves_.add(slot);
  mark(state_.table.placed[slot].holder);
}

void Queues::grant_held(SlotId slot) {
  ++state_.workers[state_.table.placed[slot].holder].moving;
  slots_.set_state(slot, JobState::moving);
  slots_.ask_stop(slot, StopReason::move);
  slots_.set_state(slot, JobState::queued);
  enqueue(slot);
}

void Queues::settle() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {  // NOLINT(modernize-loop-convert): it may grow meanwhile
    const WorkerIx ix = dirty_[i];
    state_.queues[ix].dirty = false;
    if (state_.workers[ix].live) pump(ix);
  }
  dirty_.clear();
  const bool some_help = !state_.takers.helpers().empty();
  if (some_help && context_.rule(Rule::helpers) && helper_has_room() && !MUTANT(helpers_idle)) help();
}

bool Queues::helper_has_room() const {
  const std::vector<WorkerIx>& helpers = state_.takers.helpers();
  return std::any_of(helpers.begin(), helpers.end(),
                     [&](WorkerIx ix) { return state_.workers[ix].tasks_held < state_.workers[ix].window; });
}

// A look at every worker for each task that is given away. Only pools with helpers pay it, and only while one of them
// has room.
void Queues::help() {
  for (;;) {
    Help longest;
    for (const WorkerIx ix : state_.workers.by_age) {
      const Help found = help_for(ix);
      if (found.helper != kNone && (longest.helper == kNone || found.item.stamp < longest.item.stamp)) longest = found;
    }
    if (longest.helper == kNone) return;
    // The place in its queue is void from now on.
    grant(longest.item.slot, longest.helper);
  }
}

Queues::Help Queues::help_for(WorkerIx owner) {
  std::deque<QueueItem>& queue = state_.queues[owner].tasks;
  while (!queue.empty() && !valid(queue.front(), JobState::queued)) queue.pop_front();
  std::size_t looked_at = 0;
  for (const QueueItem& item : queue) {
    if (!valid(item, JobState::queued)) continue;
    const WorkerIx helper = helper_for(item.slot, owner);
    if (helper != kNone) return {item, helper};
    if (++looked_at == kHelpLookMax) break;
  }
  return {};
}

// A key that somebody serves stays with that worker, and under chosen assignment the users' function decides.
WorkerIx Queues::helper_for(SlotId slot, WorkerIx owner) const {
  if (context_.config().assignment == Assignment::chosen) return kNone;
  if (!state_.servers.empty() && state_.servers.contains(state_.table.slots[slot].key)) return kNone;
  const BytesView type = state_.types.name(state_.table.head_type(slot));
  WorkerIx best = kNone;
  for (const WorkerIx ix : state_.takers.helpers()) {
    const PoolWorker& worker = state_.workers[ix];
    if (ix == owner || worker.tasks_held >= worker.window) continue;
    if (!worker.takes.all(JobKind::task) && !worker.takes.has(JobKind::task, type)) continue;
    if (best == kNone || worker.tasks_held < state_.workers[best].tasks_held) best = ix;
  }
  return best;
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
      grant(item.slot, ix);
    } else {
      queue.pop_front();
    }
  }
}

void Queues::pump(WorkerIx ix) {
  PoolWorker& worker = state_.workers[ix];
  WorkerQueues& queues = state_.queues[ix];
  if (!queues.moves.empty()) start_moves(ix);
  if (queues.wanted != 0) wake_holders(ix);
  if (worker.draining) return;
  grant_from(queues.residents, ix, [&] { return fitness_.may_start(ix); });
  grant_from(queues.tasks, ix, [&] { return worker.tasks_held < worker.window; });
}

bool Queues::valid(const QueueItem& item, JobState state) const {
  const Slot& slot = state_.table.slots[item.slot];
  return slot.live && slot.stamp == item.stamp && slot.state == state;
}

void Queues::grant(SlotId slot, WorkerIx ix) {
  slots_.touch(slot);
  Slot& entry = state_.table.slots[slot];
  PoolWorker& worker = state_.workers[ix];
  ASSERT(state_.table.placed[slot].holder == kNone || MUTANT(grant_before_release) || MUTANT(handback_unreleased) ||
         MUTANT(tasks_overlap));
  KeptJob& job = state_.table.head(slot);
  state_.table.placed[slot].holder = ix;
  entry.epoch = context_.next_epoch(worker.session);
  entry.started_ms = 0;
  ++worker.keys_held;
  ++context_.stats.grants;
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
                              .type = state_.types.name(job.type),
                              .first = first,
                              .answer_in_log = job.answer_in_log,
                              .has_checkpoint = checkpoint,
                              .attempt = std::uint32_t{job.attempts} + 1,
                              .ticket = job.ticket,
                              .payload = job.payload,
                              .checkpoint = checkpoint ? BytesView(job.extra->checkpoint) : BytesView()});
}

void Queues::start_moves(WorkerIx ix) {
  for (SlotId slot = moves_.take(ix); slot != kNone; slot = moves_.take(ix)) {
    slots_.touch(slot);
    ++state_.workers[ix].moving;
    ++context_.stats.moves;
    slots_.set_state(slot, JobState::moving);
    slots_.ask_stop(slot, StopReason::move);
    if (MUTANT(grant_before_release)) {
      slots_.set_state(slot, JobState::queued);
      enqueue(slot);
    }
  }
}

// Those that hold keys for this worker, and could let some go, have waited for it to have room.
void Queues::wake_holders(WorkerIx ix) {
  if (fitness_.room_for_moves(ix) == 0) return;
  for (const WorkerIx holder : state_.workers.by_age) {
    if (state_.workers[holder].moving < kMovingMax && moves_.waits(holder, ix)) mark(holder);
  }
}

void Queues::unfit_leaves() {
  for (const WorkerIx holder : state_.workers.by_age) {
    if (moves_.waits(holder, kNone)) mark(holder);
  }
}

void Queues::forget(WorkerIx ix) {
  moves_.forget(ix);
  const WorkerQueues& queues = state_.queues[ix];
  WorkerQueues fresh;
  fresh.dirty = queues.dirty;    // it is still on the list
  fresh.wanted = queues.wanted;  // the others still have what they would have moved there
  state_.queues[ix] = std::move(fresh);
}

}  // namespace tenure

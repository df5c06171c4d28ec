// Who should hold which key, and the queues that lead there: grants are given and moves are begun in portions.

#include <algorithm>

#include "assign/jump.h"
#include "assign/rendezvous.h"
#include "base/assert.h"
#include "base/mutant.h"
#include "machine/machine.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

// Who should hold the key, given the open workers; nobody if there are none, or if a choice is still to be made.
WorkerIx Machine::choose(SlotId slot) const {
  if (const WorkerIx server = server_of(slot); server != kNone) return server;
  if (open_.empty()) return kNone;
  const Placed& placed = table_.placed[slot];
  switch (config_.assignment) {
    case Assignment::rendezvous: return open_[rendezvous_choose(placed.hash, open_places_)];
    case Assignment::jump: return open_[jump_choose(placed.hash, static_cast<std::uint32_t>(open_.size()))];
    case Assignment::chosen: return placed.target != kNone && workers_[placed.target].open() ? placed.target : kNone;
  }
  ASSERT(false);
}

// The open worker that serves the key, the last one if there are several.
WorkerIx Machine::server_of(SlotId slot) const {
  if (served_.empty()) return kNone;
  const auto found = served_.find(table_.slots[slot].key);
  if (found == served_.end()) return kNone;
  const auto open =
      std::find_if(found->second.rbegin(), found->second.rend(), [&](WorkerIx ix) { return workers_[ix].open(); });
  return open != found->second.rend() ? *open : kNone;
}

void Machine::on(const v1::Choose& record) {
  const SlotId slot = table_.find(record.key());
  const WorkerIx ix = workers_.find(record.worker());
  if (slot == kNone || ix == kNone || !workers_[ix].open() || config_.assignment != Assignment::chosen) {
    return refuse_record();
  }
  if (server_of(slot) != kNone) return refuse_record();  // a served key is its server's, whatever is chosen
  retarget(slot, ix);
}

void Machine::retarget(SlotId slot, WorkerIx target) {
  Placed& placed = table_.placed[slot];
  if (placed.target == target) return;
  touch(slot);
  placed.target = target;
  Slot& entry = table_.slots[slot];
  if (entry.state == JobState::queued) {
    set_state(slot, JobState::queued);  // its place in the old queue is void
    enqueue(slot);
  } else if (entry.state == JobState::running && entry.kind == JobKind::resident && placed.holder != target) {
    workers_[placed.holder].moves.push_back({slot, entry.stamp});
    mark(placed.holder);
  }
}

void Machine::retarget_all() {
  refresh_open();
  for (SlotId slot = 0; slot < table_.placed.size(); ++slot) {
    const WorkerIx target = choose(slot);
    if (target != table_.placed[slot].target && table_.slots[slot].live) retarget(slot, target);
  }
}

// A worker has come. Under rendezvous only the newcomer's draw has to be compared with the present one's, so that
// nothing moves but what must.
void Machine::worker_opened(WorkerIx ix, WorkerIx replaced, bool inherits) {
  if (config_.assignment == Assignment::chosen) {
    if (replaced != kNone) {
      for (const SlotId slot : table_.select([=](const Placed& placed) { return placed.target == replaced; })) {
        const WorkerIx server = server_of(slot);
        retarget(slot, server != kNone ? server : ix);
      }
    }
    effects_->choices_due(at());
    return;
  }
  const PoolWorker& worker = workers_[ix];
  if (config_.assignment != Assignment::rendezvous || (replaced != kNone && !inherits)) return retarget_all();

  const bool any_served = !served_.empty();
  const std::vector<SlotId> gained = table_.select([&](const Placed& placed) {
    if (placed.target == kNone) return true;  // or free
    if (inherits) return placed.target == replaced;
    return rendezvous_prefers(placed.hash, worker.place, workers_[placed.target].place);
  });
  table_.visit_each(gained, KeyTable::Ahead::slots, [&](SlotId slot) {
    if (table_.slots[slot].live) retarget(slot, any_served ? choose(slot) : ix);
  });
}

// A worker takes no more keys. Those it should have had go to the others; those it holds follow as moves.
void Machine::worker_closed(WorkerIx ix) {
  if (config_.assignment == Assignment::jump) {
    retarget_all();
  } else {
    const std::vector<SlotId> lost = table_.select([=](const Placed& placed) { return placed.target == ix; });
    table_.visit_each(lost, KeyTable::Ahead::slots, [&](SlotId slot) { retarget(slot, choose(slot)); });
  }
  if (config_.assignment == Assignment::chosen) effects_->choices_due(at());
}

void Machine::refresh_open() {
  open_.clear();
  open_places_.clear();
  for (const WorkerIx ix : workers_.by_age) {
    if (!workers_[ix].open()) continue;
    open_.push_back(ix);
    open_places_.push_back(workers_[ix].place);
  }
}

// The head of this key wants a holder. Where none can be had it waits, and the next worker to open finds it.
void Machine::enqueue(SlotId slot) {
  const WorkerIx ix = table_.placed[slot].target;
  if (ix == kNone) return;
  PoolWorker& worker = workers_[ix];
  const Slot& entry = table_.slots[slot];
  std::deque<QueueItem>& queue = last_chance(table_.head(slot)) ? worker.last_chances
                                 : entry.kind == JobKind::task  ? worker.tasks
                                                                : worker.residents;
  queue.push_back({slot, entry.stamp});
  mark(ix);
}

// A job that killed all but one of the holders it may kill is run alone among its like, so that the blame is sure:
// alone in its session, since a process takes all its workers with it.
bool Machine::last_chance(const KeptJob& job) const {
  return config_.quarantine_after > 1 && std::uint32_t{job.crashes} + 1 >= config_.quarantine_after;
}

std::uint32_t Machine::on_trial(std::uint64_t session) const {
  std::uint32_t count = 0;
  for (const WorkerIx ix : workers_.by_age) {
    if (workers_[ix].session == session) count += workers_[ix].on_trial;
  }
  return count;
}

// Once all have passed, the next ones have their turn, of any worker of the session.
void Machine::end_solo(SlotId slot) {
  if (!table_.slots[slot].solo) return;
  table_.slots[slot].solo = false;
  PoolWorker& holder = workers_[table_.placed[slot].holder];
  --holder.on_trial;
  if (on_trial(holder.session) != 0) return;
  for (const WorkerIx ix : workers_.by_age) {
    if (workers_[ix].session == holder.session && !workers_[ix].last_chances.empty()) mark(ix);
  }
}

void Machine::mark(WorkerIx ix) {
  if (workers_[ix].dirty) return;
  workers_[ix].dirty = true;
  dirty_.push_back(ix);
}

void Machine::settle_queues() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {  // NOLINT(modernize-loop-convert): it may grow meanwhile
    const WorkerIx ix = dirty_[i];
    workers_[ix].dirty = false;
    if (workers_[ix].live) pump(ix);
  }
  dirty_.clear();
}

void Machine::pump(WorkerIx ix) {
  start_moves(ix);
  PoolWorker& worker = workers_[ix];
  if (worker.draining) return;
  grant_from(worker.residents, ix, [&] { return worker.starting < kStartingMax; });
  grant_from(worker.tasks, ix, [&] { return worker.tasks_held < worker.window; });
  if (!worker.last_chances.empty() && on_trial(worker.session) == 0) pump_last_chances(ix);
}

// One at a time would take days where a process has died twice with very many young keys. If several together kill
// their holder it cannot be told which of them did: they are tried again with fewer, and in the end alone.
void Machine::pump_last_chances(WorkerIx ix) {
  PoolWorker& worker = workers_[ix];
  std::size_t most = std::clamp<std::size_t>(worker.last_chances.size() / kTrialShare, 1, kTrialMax);
  for (std::size_t granted = 0; !worker.last_chances.empty();) {
    const QueueItem item = worker.last_chances.front();
    if (valid(item, JobState::queued)) {
      const JobExtra* extra = table_.head(item.slot).extra.get();
      if (extra != nullptr && extra->together_max != 0) most = std::min<std::size_t>(most, extra->together_max);
      const bool room = worker.starting < kStartingMax && worker.tasks_held < worker.window;
      if (granted != 0 && (granted >= most || !room)) return;
      worker.last_chances.pop_front();
      grant(item.slot, ix, true);
      granted += table_.slots[item.slot].solo ? 1 : 0;  // it may be a suspect no more, since the limit has changed
    } else {
      worker.last_chances.pop_front();
    }
  }
}

void Machine::grant_from(std::deque<QueueItem>& queue, WorkerIx ix, const std::function<bool()>& has_room) {
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

bool Machine::valid(const QueueItem& item, JobState state) const {
  const Slot& slot = table_.slots[item.slot];
  return slot.live && slot.stamp == item.stamp && slot.state == state;
}

void Machine::grant(SlotId slot, WorkerIx ix, bool trial) {
  touch(slot);
  Slot& entry = table_.slots[slot];
  PoolWorker& worker = workers_[ix];
  ASSERT(table_.placed[slot].holder == kNone || MUTANT(grant_before_release) || MUTANT(tasks_overlap));
  KeptJob& job = table_.head(slot);
  table_.placed[slot].holder = ix;
  entry.epoch = next_epoch(worker.session);
  entry.started_ms = 0;
  ++worker.keys_held;
  ++stats_.grants;
  // A change of the limit may have made it one after it was queued; then others may be on trial.
  if (last_chance(job) && (trial || on_trial(worker.session) == 0)) {
    entry.solo = true;
    ++worker.on_trial;
  }
  if (entry.kind == JobKind::task) {
    ++worker.tasks_held;
    set_state(slot, JobState::running);
  } else {
    ++worker.starting;
    set_state(slot, JobState::starting);
    set_timer(slot, TimerKind::start_timeout, log_time_ms_ + config_.pending_job_ttl_ms);
  }
  const bool first = job.fresh;
  if (job.fresh) {
    job.fresh = false;
    --queued_;
  }
  note(entry.epoch);
  note(worker.age);
  const bool checkpoint = job.extra && job.extra->has_checkpoint && !MUTANT(checkpoint_not_restored);
  effects_->granted(at(), {tenure_ref(slot), entry.kind, first, job.say, checkpoint, std::uint32_t{job.attempts} + 1,
                           job.ticket, job.payload, checkpoint ? BytesView(job.extra->checkpoint) : BytesView()});
}

void Machine::start_moves(WorkerIx ix) {
  PoolWorker& worker = workers_[ix];
  while (!worker.moves.empty() && worker.moving < kMovingMax) {
    const QueueItem item = worker.moves.front();
    worker.moves.pop_front();
    if (!valid(item, JobState::running) || table_.placed[item.slot].target == ix) continue;
    touch(item.slot);
    ++worker.moving;
    ++stats_.moves;
    set_state(item.slot, JobState::moving);
    ask_stop(item.slot, StopReason::move);
    if (MUTANT(grant_before_release)) {
      set_state(item.slot, JobState::queued);
      enqueue(item.slot);
    }
  }
}

// A new stamp outdates whatever refers to the state before; the timer of that state goes with it.
void Machine::set_state(SlotId slot, JobState state) {
  Slot& entry = table_.slots[slot];
  if (entry.due_ms != 0) timers_.erase({entry.due_ms, entry.stamp, TimerKind::retry, slot});
  entry.due_ms = 0;
  // Being asked to stop does not make a job young again.
  if (state == JobState::moving || state == JobState::stopping) {
    entry.settled = entry.settled || is_settled(slot);
  } else {
    entry.settled = false;
  }
  entry.state = state;
  entry.stamp = ++stamps_;
  entry.since_ms = log_time_ms_;
}

void Machine::set_timer(SlotId slot, TimerKind kind, std::int64_t due_ms) {
  Slot& entry = table_.slots[slot];
  ASSERT(entry.due_ms == 0);
  entry.due_ms = std::max<std::int64_t>(due_ms, 1);
  timers_.insert({entry.due_ms, entry.stamp, kind, slot});
}

void Machine::ask_stop(SlotId slot, StopReason reason) { effects_->stop_asked(at(), tenure_ref(slot), reason); }

TenureRef Machine::tenure_ref(SlotId slot) const {
  const WorkerIx holder = table_.placed[slot].holder;
  const Slot& entry = table_.slots[slot];
  if (holder == kNone) return {0, {}, entry.key, entry.epoch};
  return {workers_[holder].session, workers_[holder].id, entry.key, entry.epoch};
}

}  // namespace tenure

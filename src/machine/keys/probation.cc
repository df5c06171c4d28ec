#include "machine/keys/probation.h"

#include <algorithm>
#include <utility>

#include "machine/limits.h"

namespace tenure {

void Probation::succeeded(WorkerIx ix) {
  const bool fit_again = fitness_.succeeded(ix);
  queues_.mark(ix);
  if (fit_again && !state_.workers[ix].draining) make_fit(ix);
}

void Probation::failed(WorkerIx ix, SlotId slot, BytesView error, bool counts) {
  WorkerFitness& fitness = state_.workers[ix].fitness;
  const bool too_many = fitness_.failed(ix, state_.table.placed[slot].hash, error, counts);
  if (too_many) return make_unfit(ix);
  if (!fitness.unfit || fitness.probe != slot) return;
  fitness.probe = kNone;
  fitness.pause_ms = std::min(2 * fitness.pause_ms, kProbeMsMax);
  fitness.probe_at_ms = context_.log_time_ms() + fitness.pause_ms;
  fitness_.set_timer(ix);
}

void Probation::undecided(WorkerIx ix, SlotId slot) {
  WorkerFitness& fitness = state_.workers[ix].fitness;
  if (!fitness.unfit || fitness.probe != slot) return;
  fitness.probe = kNone;
  fitness.probe_at_ms = context_.log_time_ms() + fitness.pause_ms;
  fitness_.set_timer(ix);
}

void Probation::confirm(std::uint64_t age, std::uint64_t key_hash) {
  const WorkerIx ix = state_.workers.find_age(age);
  if (ix != kNone && fitness_.confirm(ix, key_hash)) make_unfit(ix);
}

void Probation::make_unfit(WorkerIx ix) {
  PoolWorker& worker = state_.workers[ix];
  if (context_.shutting_down()) return worker.fitness.failed.clear();  // it may have to do the tasks that are left
  worker.fitness.unfit = true;
  worker.fitness.pause_ms = kProbeMsMin;
  worker.fitness.probe_at_ms = context_.log_time_ms() + kProbeMsMin;
  const WorkerIx predecessor = state_.workers.predecessor(ix);
  if (predecessor != kNone) state_.workers[predecessor].replaced = false;
  context_.note(worker.age);
  context_.effects().worker_unfit(context_.at(), worker.session, worker.id, worker.fitness.error);
  fitness_.set_timer(ix);
  placement_.refresh_open();
  placement_.worker_unfit(ix);
}

void Probation::clear(WorkerIx ix) {
  PoolWorker& worker = state_.workers[ix];
  worker.fitness.unfit = false;
  worker.fitness.probe = kNone;
  worker.fitness.pause_ms = 0;
  worker.fitness.probe_at_ms = 0;
  worker.fitness.error.clear();
  context_.note(worker.age);
  context_.effects().worker_fit(context_.at(), worker.session, worker.id);
  fitness_.set_timer(ix);
}

void Probation::make_fit(WorkerIx ix) {
  clear(ix);
  PoolWorker& worker = state_.workers[ix];
  const WorkerIx predecessor = state_.workers.predecessor(ix);
  bool inherits = false;
  if (predecessor != kNone) {
    PoolWorker& old = state_.workers[predecessor];
    inherits = old.open() && old.place.weight == worker.place.weight && old.place.seed == worker.place.seed &&
               old.takes == worker.takes;
    old.replaced = true;
  }
  if (!worker.open()) return placement_.refresh_open();
  state_.workers.settle_place(ix);
  placement_.refresh_open();
  placement_.worker_opened(ix, predecessor, inherits);
  placement_.serve_again(ix);
}

void Probation::probe(WorkerIx ix) {
  PoolWorker& worker = state_.workers[ix];
  if (!worker.fitness.unfit || worker.draining || context_.log_time_ms() < worker.fitness.probe_at_ms) return;
  worker.fitness.probe_at_ms = context_.log_time_ms() + worker.fitness.pause_ms;
  const SlotId last = worker.fitness.probe;
  const bool held = last != kNone && state_.table.slots[last].live && state_.table.placed[last].holder == ix;
  const bool trying = held || worker.starting + worker.arriving != 0 || !state_.queues[ix].tentative.empty();
  if (trying) return;
  const SlotId slot = find_probe(ix);
  worker.fitness.probe = slot;
  if (slot == kNone) {
    worker.fitness.look_from = worker.fitness.look_from + kProbeLookMax;
    return;
  }
  worker.fitness.look_from = slot + 1;
  placement_.divert(slot, ix);
}

// One that waits for a holder costs nothing to try; otherwise one that would be the worker's if it were fit. They take
// turns, so that it is not always the same one that has to move.
SlotId Probation::find_probe(WorkerIx ix) const {
  const SlotId end = state_.table.slots.end();
  if (end == 0) return kNone;
  SlotId held = kNone;
  for (SlotId looked = 0; looked < std::min(end, kProbeLookMax); ++looked) {
    const auto slot = static_cast<SlotId>((std::uint64_t{state_.workers[ix].fitness.look_from} + looked) % end);
    const Slot& entry = state_.table.slots[slot];
    if (!entry.live || entry.kind != JobKind::resident || !placement_.takes(ix, slot)) continue;
    const Placed& placed = state_.table.placed[slot];
    if (entry.state == JobState::queued && placed.target == kNone) return slot;
    const bool movable = entry.state == JobState::running && placed.holder != ix;
    if (held == kNone && movable && suits(slot, ix)) held = slot;
  }
  return held;
}

bool Probation::suits(SlotId slot, WorkerIx ix) const {
  const Placed& placed = state_.table.placed[slot];
  if (placed.target != placed.holder) return false;
  if (const auto servers = state_.servers.find(state_.table.slots[slot].key); servers != state_.servers.end()) {
    return servers->second.back() == ix;
  }
  // Its own partition, also where it is with another worker because it failed to start here.
  if (state_.table.slots[slot].partition != kNoPartition) {
    return placed.target == state_.workers.predecessor(ix) ||
           state_.table.slots[slot].partition == state_.workers[ix].ordinal;
  }
  if (state_.table.slots[slot].diverted) return false;
  if (context_.config().assignment != Assignment::rendezvous) return true;
  return placed.target == state_.workers.predecessor(ix) ||
         rendezvous_prefers(placed.hash, state_.workers[ix].place, state_.workers[placed.target].place);
}

// The successor of an unfit worker takes over from the one that went on in that one's place.
bool Probation::replace(WorkerIx& replaced, WorkerIx successor) {
  PoolWorker& named = state_.workers[replaced];
  if (named.fitness.unfit) {
    const WorkerIx still_there = state_.workers.predecessor(replaced);
    named.draining = true;
    worker_drains(replaced);
    if (still_there != kNone) replaced = still_there;
  }
  PoolWorker& old = state_.workers[replaced];
  const bool inherits = old.open() && old.place.weight == state_.workers[successor].place.weight &&
                        old.takes == state_.workers[successor].takes;
  const bool taken = old.successor != kNone && old.replaced;  // by another one, which is fit
  if (!old.draining && !taken) {
    old.successor = successor;
    old.replaced = true;
  }
  return inherits;
}

void Probation::worker_drains(WorkerIx ix) {
  PoolWorker& worker = state_.workers[ix];
  worker.successor = kNone;
  worker.replaced = false;
  fitness_.set_timer(ix);
  if (worker.fitness.unfit) queues_.unfit_leaves();
}

void Probation::worker_reopens(WorkerIx ix) {
  if (!state_.workers[ix].fitness.unfit) return fitness_.set_timer(ix);
  clear(ix);
  queues_.unfit_leaves();
}

void Probation::worker_gone(WorkerIx ix) {
  fitness_.stop_timer(ix);
  for (const WorkerIx other : state_.workers.by_age) {
    PoolWorker& worker = state_.workers[other];
    if (worker.successor != ix) continue;
    // One whose successor was fit has given its place away for good.
    const bool closes = std::exchange(worker.replaced, false) && !worker.draining;
    worker.draining = worker.draining || closes;
    worker.successor = kNone;
    fitness_.set_timer(other);
    if (closes) placement_.worker_closed(other);  // of keys that had come back to it
  }
  if (state_.workers[ix].fitness.unfit) queues_.unfit_leaves();
  queues_.forget(ix);
}

}  // namespace tenure

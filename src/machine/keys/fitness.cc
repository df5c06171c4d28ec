#include "machine/keys/fitness.h"

#include <algorithm>

#include "base/mutant.h"
#include "machine/limits.h"

namespace tenure {

bool Fitness::succeeded(WorkerIx ix) {
  WorkerFitness& fitness = state_.workers[ix].fitness;
  fitness.proven = true;
  if (fitness.window < kStartingMax) fitness.window = std::min(2 * fitness.window, kStartingMax);
  if (!fitness.failed.empty()) fitness.failed.clear();
  return fitness.unfit && !MUTANT(unfit_for_ever);
}

// One bad job must not make workers unfit one after another, so that each key counts once, and only as long as no other
// worker has failed with it too.
bool Fitness::failed(WorkerIx ix, std::uint64_t key_hash, BytesView error, bool counts) {
  WorkerFitness& fitness = state_.workers[ix].fitness;
  fitness.error = Bytes(error);
  if (!counts) return false;
  fitness.window = kStartsFirst;
  const bool known = std::find(fitness.failed.begin(), fitness.failed.end(), key_hash) != fitness.failed.end();
  if (!known && fitness.failed.size() < kUnfitAfter) fitness.failed.push_back(key_hash);
  return too_many(ix);
}

void Fitness::withdraw(std::uint64_t age, std::uint64_t key_hash) {
  const WorkerIx ix = state_.workers.find_age(age);
  if (ix != kNone) std::erase(state_.workers[ix].fitness.failed, key_hash);
}

bool Fitness::confirm(WorkerIx ix, std::uint64_t key_hash) {
  const WorkerFitness& fitness = state_.workers[ix].fitness;
  return failed(ix, key_hash, Bytes(fitness.error), true);
}

// The last worker that could hold the keys goes on holding them, unless it has never started any.
bool Fitness::too_many(WorkerIx ix) const {
  const PoolWorker& worker = state_.workers[ix];
  if (worker.fitness.unfit || worker.fitness.failed.size() < kUnfitAfter) return false;
  const bool others = std::any_of(state_.workers.by_age.begin(), state_.workers.by_age.end(),
                                  [&](WorkerIx other) { return other != ix && state_.workers[other].open(); });
  return others || !worker.fitness.proven || state_.workers.predecessor(ix) != kNone;
}

bool Fitness::others_proven(WorkerIx ix) const {
  return std::any_of(state_.workers.by_age.begin(), state_.workers.by_age.end(), [&](WorkerIx other) {
    return other != ix && state_.workers[other].open() && state_.workers[other].fitness.proven;
  });
}

void Fitness::watch(WorkerIx ix, SlotId slot) {
  state_.queues[ix].tentative.push_back({slot, state_.table.slots[slot].stamp});
  set_timer(ix);
}

bool Fitness::is_running(const QueueItem& item) const {
  const Slot& slot = state_.table.slots[item.slot];
  return slot.live && slot.stamp == item.stamp && slot.state == JobState::running;
}

SlotId Fitness::next_settled(WorkerIx ix) {
  std::deque<QueueItem>& tentative = state_.queues[ix].tentative;
  while (!tentative.empty()) {
    const QueueItem item = tentative.front();
    const bool runs = is_running(item);
    if (runs && context_.log_time_ms() - state_.table.slots[item.slot].since_ms < kStartSettleMs) return kNone;
    tentative.pop_front();
    if (runs) return item.slot;
  }
  return kNone;
}

void Fitness::set_timer(WorkerIx ix) {
  WorkerFitness& fitness = state_.workers[ix].fitness;
  const std::deque<QueueItem>& tentative = state_.queues[ix].tentative;
  stop_timer(ix);
  const bool probed = fitness.unfit && !state_.workers[ix].draining;
  if (!tentative.empty()) {
    // One that has ended meanwhile is found when the timer fires.
    const Slot& first = state_.table.slots[tentative.front().slot];
    fitness.due_ms = (is_running(tentative.front()) ? first.since_ms : context_.log_time_ms()) + kStartSettleMs;
    if (probed) fitness.due_ms = std::min(fitness.due_ms, fitness.probe_at_ms);
  } else if (probed) {
    fitness.due_ms = fitness.probe_at_ms;
  } else {
    return;
  }
  fitness.due_ms = std::max<std::int64_t>(fitness.due_ms, 1);
  fitness.stamp = context_.next_stamp();
  context_.timers().insert({fitness.due_ms, fitness.stamp, TimerKind::fitness, ix});
}

void Fitness::stop_timer(WorkerIx ix) {
  WorkerFitness& fitness = state_.workers[ix].fitness;
  if (fitness.due_ms != 0) context_.timers().erase({fitness.due_ms, fitness.stamp, TimerKind::fitness, ix});
  fitness.due_ms = 0;
}

}  // namespace tenure

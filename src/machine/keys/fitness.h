#pragma once

// How far each worker is trusted to start residents. A new worker gets a few at first, and more as these start: a
// worker that can start none then takes no more than a few keys from those that run them well (slow start). Starts that
// fail are counted against the worker if it may be at fault. Probation says what becomes of one with too many of them.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/keys_state.h"

namespace tenure {

class Fitness {
 public:
  Fitness(KeysState& state, Context& context) : state_(state), context_(context) {}

  // How many more residents may be asked to move to the worker.
  std::uint32_t room_for_moves(WorkerIx ix) const {
    const PoolWorker& worker = state_.workers[ix];
    return room(ix, worker.starting + worker.arriving);
  }
  // Whether a resident that waits may be granted to the worker. It has no holder that it could be taken from: a worker
  // that nobody better stands beside gets as many as it can start.
  bool may_start(WorkerIx ix) const {
    const PoolWorker& worker = state_.workers[ix];
    if (worker.starting >= kStartingMax) return false;
    return room(ix, worker.starting) != 0 || (!worker.fitness.unfit && !others_proven(ix));
  }

  // A start has succeeded. True if the worker was unfit until now.
  bool succeeded(WorkerIx ix);
  // A start has failed. `counts`: it speaks against the worker. True if the worker is to be unfit from here on.
  bool failed(WorkerIx ix, std::uint64_t key_hash, BytesView error, bool counts);
  // Somebody else could not start the key either: it does not speak against the worker any more.
  void withdraw(std::uint64_t age, std::uint64_t key_hash);
  // Somebody else could. True if the worker is to be unfit from here on.
  bool confirm(WorkerIx ix, std::uint64_t key_hash);

  // Nothing speaks for the worker: no start has succeeded there since it joined, or since the last one that failed.
  bool doubtful(WorkerIx ix) const {
    const WorkerFitness& fitness = state_.workers[ix].fitness;
    return fitness.unfit || fitness.window == kStartsFirst;
  }
  // A tentative start there has to settle before it counts.
  bool watches(WorkerIx ix) const {
    const WorkerFitness& fitness = state_.workers[ix].fitness;
    return fitness.unfit || fitness.window < kStartingMax;
  }
  // The resident has just been started there.
  void watch(WorkerIx ix, SlotId slot);
  // Of those that are watched, the next one whose start has settled; or none.
  SlotId next_settled(WorkerIx ix);
  // The worker's timer is the next thing to happen there.
  void set_timer(WorkerIx ix);
  void stop_timer(WorkerIx ix);

 private:
  std::uint32_t room(WorkerIx ix, std::uint32_t taken) const {
    const WorkerFitness& fitness = state_.workers[ix].fitness;
    if (fitness.unfit && !MUTANT(unfit_gets_keys)) return fitness.probe != kNone && taken == 0 ? 1 : 0;
    const std::size_t used = taken + state_.queues[ix].tentative.size();
    return used < fitness.window ? static_cast<std::uint32_t>(fitness.window - used) : 0;
  }
  bool others_proven(WorkerIx ix) const;
  bool too_many(WorkerIx ix) const;
  bool is_running(const QueueItem& item) const;

  KeysState& state_;
  Context& context_;
};

}  // namespace tenure

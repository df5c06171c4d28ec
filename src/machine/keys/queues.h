#pragma once

// Each worker's queues: keys that it is to get, and keys that are to be taken from it. Grants are given and moves are
// begun in portions, so that a worker that inherits many keys is not handed all of them at once.

#include <cstdint>
#include <deque>
#include <vector>

#include "machine/context.h"
#include "machine/keys/fitness.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/moves.h"
#include "machine/keys/slots.h"
#include "machine/keys/suspects.h"

namespace tenure {

class Queues {
 public:
  Queues(KeysState& state, Context& context, Slots& slots, Suspects& suspects, Fitness& fitness)
      : state_(state),
        context_(context),
        slots_(slots),
        suspects_(suspects),
        fitness_(fitness),
        moves_(state, fitness) {}

  // The head job of this key wants a holder. Where none can be had it waits, and the next worker to open finds it. If
  // its target is unfit, it is one of the strays, for whom Placement looks for another one.
  void enqueue(SlotId slot);
  // The key's holder is not the worker that should have it.
  void enqueue_move(SlotId slot);
  // The worker may have room for more.
  void mark(WorkerIx worker);
  // Between records: gives what can be given.
  void settle();
  // The job is on its last chance no more, because it passed or because its tenure is over.
  void end_trial(SlotId slot);
  // The worker is gone.
  void forget(WorkerIx worker);
  // One that was unfit leaves. Keys that nobody could take may have waited for it to recover.
  void unfit_leaves();

 private:
  void pump(WorkerIx ix);
  void pump_last_chances(WorkerIx ix);
  template <class HasRoom>
  void grant_from(std::deque<QueueItem>& queue, WorkerIx ix, HasRoom has_room);
  void grant(SlotId slot, WorkerIx ix, bool trial);
  void start_moves(WorkerIx ix);
  void wake_holders(WorkerIx ix);
  bool valid(const QueueItem& item, JobState state) const;

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Suspects& suspects_;
  Fitness& fitness_;
  Moves moves_;
  std::vector<WorkerIx> dirty_;  // empty between records
};

}  // namespace tenure

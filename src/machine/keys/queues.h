#pragma once

// Each worker's queues: keys that it will get, and keys that will be taken from it. Grants and moves happen in
// portions, so that a worker that inherits many keys does not get all of them at once.

#include <cstdint>
#include <deque>
#include <vector>

#include "machine/context.h"
#include "machine/keys/fitness.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/moves.h"
#include "machine/keys/slots.h"

namespace tenure {

class Queues {
 public:
  Queues(KeysState& state, Context& context, Slots& slots, Fitness& fitness)
      : state_(state), context_(context), slots_(slots), fitness_(fitness), moves_(state, fitness) {}

  // The head job of this key needs a holder. Without an open worker it waits, and the next worker to open finds it. If
  // its target is unfit, it becomes a stray, and Placement looks for another worker.
  void enqueue(SlotId slot);
  // The key's holder is not its target.
  void enqueue_move(SlotId slot);
  // A deliberate bug, for the simulator: the key's target gets it while its holder still has it.
  void grant_held(SlotId slot);
  // The worker may have room for more keys.
  void mark(WorkerIx worker) {
    WorkerQueues& queues = state_.queues[worker];
    if (queues.dirty) return;
    queues.dirty = true;
    dirty_.push_back(worker);
  }
  // A start under way is to be cut short: its holder is asked at once, and need not have finished starting.
  void stop_start(SlotId slot, StopReason reason);
  // Between records: grants what can be granted.
  void settle();
  // The worker is gone.
  void forget(WorkerIx worker);
  // One that was unfit leaves. Keys that nobody could take may have waited for it to recover.
  void unfit_leaves();

 private:
  void pump(WorkerIx ix);
  template <class HasRoom>
  void grant_from(std::deque<QueueItem>& queue, WorkerIx ix, HasRoom has_room);
  void grant(SlotId slot, WorkerIx ix);
  // Tasks that wait for a worker whose window is full go to a helper that has room, the one that has waited longest
  // first.
  void help();
  bool helper_has_room() const;
  // The first task in this worker's queue that a helper can have.
  struct Help {
    QueueItem item{};
    WorkerIx helper = kNone;
  };
  Help help_for(WorkerIx owner);
  // The helper with the fewest tasks that can have this one; none if there is none.
  WorkerIx helper_for(SlotId slot, WorkerIx owner) const;
  void start_moves(WorkerIx ix);
  void wake_holders(WorkerIx ix);
  bool valid(const QueueItem& item, JobState state) const;

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Fitness& fitness_;
  Moves moves_;
  std::vector<WorkerIx> dirty_;  // empty between records
};

}  // namespace tenure

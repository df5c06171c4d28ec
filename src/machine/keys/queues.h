#pragma once

// Each worker's queues: keys that it will get, and keys that will be taken from it. Grants and moves happen in
// portions, so that a worker that inherits many keys does not get all of them at once.

#include <cstdint>
#include <deque>
#include <vector>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/slots.h"
#include "machine/keys/suspects.h"

namespace tenure {

class Queues {
 public:
  Queues(KeysState& state, Context& context, Slots& slots, Suspects& suspects)
      : state_(state), context_(context), slots_(slots), suspects_(suspects) {}

  // The head job of this key needs a holder. Without an open worker it waits, and the next worker to open finds it.
  void enqueue(SlotId slot);
  // The key's holder is not its target.
  void enqueue_move(SlotId slot);
  // The worker may have room for more keys.
  void mark(WorkerIx worker);
  // Between records: grants what can be granted.
  void settle();
  // A start under way is to be cut short: its holder is asked at once, and need not have finished starting.
  void stop_start(SlotId slot, StopReason reason);
  // The job is no longer on its last chance, because it passed or its tenure is over.
  void end_trial(SlotId slot);

 private:
  void pump(WorkerIx ix);
  void pump_last_chances(WorkerIx ix);
  template <class HasRoom>
  void grant_from(std::deque<QueueItem>& queue, WorkerIx ix, HasRoom has_room);
  void grant(SlotId slot, WorkerIx ix, bool trial);
  void start_moves(WorkerIx ix);
  bool valid(const QueueItem& item, JobState state) const;

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Suspects& suspects_;
  std::vector<WorkerIx> dirty_;  // empty between records
};

}  // namespace tenure

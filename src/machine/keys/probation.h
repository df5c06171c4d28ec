#pragma once

// Unfit workers: those whose starts keep failing while others could do better. An unfit worker keeps the keys that run
// well there and gets no more. From time to time it is given one key as a probe; if that starts, the worker is fit
// again. Where all workers are unfit, the keys wait for the probes.
//
// A worker that was replaced by one that proves unfit goes on in its place, for as long as it lives. So a deploy of a
// version that cannot start anything moves back by itself.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/fitness.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/queues.h"

namespace tenure {

class Probation {
 public:
  Probation(KeysState& state, Context& context, Fitness& fitness, Queues& queues, Placement& placement)
      : state_(state), context_(context), fitness_(fitness), queues_(queues), placement_(placement) {}

  // What Starts has heard of a start.
  void succeeded(WorkerIx worker);
  // `counts`: it speaks against the worker.
  void failed(WorkerIx worker, SlotId slot, BytesView error, bool counts);
  // A start has neither succeeded nor failed.
  void undecided(WorkerIx worker, SlotId slot);
  // A key that failed to start on the worker of that age runs elsewhere by now.
  void confirm(std::uint64_t age, std::uint64_t key_hash);
  // An unfit worker is to be given a key to try, unless it is trying one.
  void probe(WorkerIx worker);

  // A worker joins in the place of `replaced`, which is set to the one whose keys it gets. True if it inherits exactly
  // these.
  bool replace(WorkerIx& replaced, WorkerIx successor);
  void worker_drains(WorkerIx worker);
  // In a pool that is shutting down nothing is started any more that it could be unfit for.
  void worker_reopens(WorkerIx worker);
  // To be called before it is removed from the table.
  void worker_gone(WorkerIx worker);

 private:
  void make_unfit(WorkerIx worker);
  void make_fit(WorkerIx worker);
  void clear(WorkerIx worker);
  SlotId find_probe(WorkerIx worker) const;
  bool suits(SlotId slot, WorkerIx worker) const;

  KeysState& state_;
  Context& context_;
  Fitness& fitness_;
  Queues& queues_;
  Placement& placement_;
};

}  // namespace tenure

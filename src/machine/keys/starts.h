#pragma once

// What becomes of a resident's start.
//
// A start has succeeded when the holder says so; where the holder calls it tentative, once the job has run for
// kStartSettleMs. A start that fails may be the job's fault or the worker's, and a bad worker must not end good jobs:
//
//   - A job that has run before is tried on the other workers first, one after another. When all have failed, that was
//     one attempt: it is tried again after a backoff, and buried when it is out of attempts. It is never dropped.
//   - A job that has never run fails at once, and its key is free again; unless the worker has not started anything
//     itself so far. Then the job is tried on one that has.
//   - Where all workers are unfit, jobs wait for one to recover, and lose no attempt by it.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/dead_letters.h"
#include "machine/keys/fitness.h"
#include "machine/keys/job_line.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/probation.h"
#include "machine/keys/queues.h"
#include "machine/keys/slots.h"

namespace tenure {

class Starts {
 public:
  Starts(KeysState& state, Context& context, Slots& slots, Fitness& fitness, Queues& queues, JobLine& line,
         Placement& placement, Probation& probation, DeadLetters& dead)
      : state_(state),
        context_(context),
        slots_(slots),
        fitness_(fitness),
        queues_(queues),
        line_(line),
        placement_(placement),
        probation_(probation),
        dead_(dead) {}

  // The holder says that the resident runs.
  void began(SlotId slot, WorkerIx worker, bool tentative);
  // The resident has run until now: long enough to show that it can.
  void ran_for(SlotId slot);
  // Whether the resident that has failed now was not more than starting.
  bool was_starting(SlotId slot) const;
  // Its holder was asked to give it back because the start took too long.
  bool timed_out(SlotId slot) const;
  // What the holder says of a job that has run before never drops it.
  static int at_least_kept(const KeptJob& job, int next);
  // The start failed. The tenure is over.
  void failed(SlotId slot, WorkerIx worker, int next, BytesView error);
  // The handler wants to start later, which says nothing about the worker.
  void put_off(SlotId slot, WorkerIx worker) { probation_.undecided(worker, slot); }
  // The job fails: it waits for its next attempt, or is buried.
  void count_attempt(SlotId slot, BytesView error);
  // The job keeps the error for people to see.
  void keep_error(SlotId slot, BytesView error);
  void fire(const MachineTimer& timer);

 private:
  void succeeded(SlotId slot, WorkerIx worker);
  bool try_elsewhere(SlotId slot, WorkerIx worker, bool only_proven);
  std::int64_t backoff_ms(const Slot& slot, const KeptJob& job) const;

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Fitness& fitness_;
  Queues& queues_;
  JobLine& line_;
  Placement& placement_;
  Probation& probation_;
  DeadLetters& dead_;
};

}  // namespace tenure

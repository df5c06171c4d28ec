#pragma once

// The state of the part `keys`.

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "machine/keys/job_info.h"
#include "machine/keys/key_table.h"
#include "machine/keys/takers.h"
#include "machine/keys/type_table.h"
#include "machine/keys/worker_table.h"

namespace tenure {

// A key that waits in a worker's queue. Void if the slot's stamp has changed.
struct QueueItem {
  SlotId slot;
  std::uint64_t stamp;
};

// The keys to be granted to a worker, and the keys to be taken from it.
struct WorkerQueues {
  std::deque<QueueItem> residents;
  std::deque<QueueItem> tasks;
  std::map<WorkerIx, std::deque<QueueItem>> moves;  // by where they are to go
  std::deque<QueueItem> tentative;                  // residents whose start here has not settled
  std::uint64_t wanted = 0;                         // in the moves of others, to here; derived
  bool dirty = false;                               // something changed in this record; never true between records
};

struct KeysState {
  KeyTable table;
  TypeTable types;
  WorkerTable workers;
  std::vector<WorkerQueues> queues;                             // by WorkerIx
  std::map<Bytes, std::vector<WorkerIx>, std::less<>> servers;  // by key; the last one counts
  std::map<std::uint64_t, DeadLetter> dead;                     // by id
  std::uint64_t dead_tasks = 0;                                 // of dead
  std::deque<PastTenure> past;                                  // the last ones, oldest first
  std::uint64_t choice_round = 0;                               // how often every choice became due
  std::uint32_t queued = 0;    // accepted jobs that no handler has begun and whose delay is over
  std::uint32_t delayed = 0;   // jobs whose delay is not over
  std::vector<SlotId> strays;  // wait for a worker that is unfit by now; empty between records

  // Derived from the fields above.
  Takers takers;
  std::vector<SlotId> partitions;  // by number: their slots
  bool partitions_due = false;     // some are missing, or are of another number; false in a pool that has none
  std::uint64_t bytes = 0;         // of keys, payloads, checkpoints, messages and past tenures
};

}  // namespace tenure

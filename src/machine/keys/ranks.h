#pragma once

// Which worker should hold a partition (src/assign/ranked.h has the order of those that may).
//
// A partition moves only if its worker is gone, or if one of a better rank is there and has settled. So which of
// several secondaries has it depends on the past: a secondary that joins takes nothing from another one. Only a worker
// that nobody could replace at the moment need not settle first.

#include <cstdint>
#include <vector>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/takers.h"

namespace tenure {

class Ranks {
 public:
  Ranks(KeysState& state, Context& context) : state_(state), context_(context) {}

  bool is_partition(SlotId slot) const { return state_.table.slots[slot].partition != kNoPartition; }
  // The key was added to the table, or is about to be removed.
  void added(SlotId slot);
  void removed(SlotId slot);
  // The table was replaced, or the pool has a ring now.
  void rebuild();

  // Surge has brought it to its target, where it stays until it is taken back.
  bool is_lent(SlotId slot) const { return state_.table.slots[slot].lent; }

  // Whether the worker's rank allows it to hold the partition.
  bool may_hold(WorkerIx worker, SlotId slot) const { return rank(worker, slot) != Rank::none; }
  Rank rank(WorkerIx worker, SlotId slot) const {
    return rank_of(ring(), state_.table.slots[slot].partition, state_.workers[worker].ordinal);
  }
  // The worker that should hold the partition, of those that take it; none if none may.
  WorkerIx choose(SlotId slot, const Crowd& takers) const;
  // The best of these, wherever the partition is.
  WorkerIx best_of(SlotId slot, const std::vector<WorkerIx>& workers) const;
  // Whether the worker, which has just come, should have the partition rather than its target.
  bool prefers(SlotId slot, WorkerIx worker) const;

  // A worker that has to settle first gets a timer for it.
  void watch(WorkerIx worker);
  // The partition had to go to another worker than its primary, where it failed to start: that one gets it again some
  // time later, to try.
  void diverted(SlotId slot);
  void forget(WorkerIx worker);

 private:
  const Ring& ring() const { return context_.config().ring; }
  bool settled(WorkerIx worker) const {
    return context_.log_time_ms() - state_.workers[worker].joined_ms >= ring().settle_ms;
  }
  std::uint32_t load(WorkerIx worker, SlotId but_for) const;
  void arm(WorkerIx worker, std::int64_t due_ms);

  KeysState& state_;
  Context& context_;
};

}  // namespace tenure

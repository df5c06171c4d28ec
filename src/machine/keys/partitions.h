#pragma once

// The partitions of a pool. A partition is a resident like any other: Placement finds its worker by rank, and tenures,
// handoff, checkpoints and blame are those of every key. But no user dispatches it or stops it. A pool that has a ring
// has exactly the partitions of the ring: one that ends is made again.
//
// If partitions are cut, each of their parts is such a resident, and what is said of partitions here is true of parts.
//
// The payload of a partition is the number of partitions. If that number changes, the same row belongs to another
// partition, so partitions of both numbers must never be held at the same time. All of the old number are stopped
// first; when the last one is gone, those of the new number are made. The pool goes on meanwhile.

#include <cstdint>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/ranks.h"
#include "machine/keys/requests.h"
#include "machine/keys/slots.h"

namespace tenure {

namespace v1 {
class SetPartitions;
}  // namespace v1

class Partitions {
 public:
  Partitions(KeysState& state, Context& context, Slots& slots, Ranks& ranks, Placement& placement, Requests& requests)
      : state_(state), context_(context), slots_(slots), ranks_(ranks), placement_(placement), requests_(requests) {}

  void on(const v1::SetPartitions& record);
  // Whether a pool without a ring can have this one: nobody uses the keys of partitions.
  bool may_begin() const;
  void set(const Ring& ring);
  // The pool has another ring than before, wherever it came from.
  void ring_changed(const Ring& before);
  // Between records: ends what should not be there, and makes what is missing.
  void settle(bool held_back) {
    if (!state_.partitions_due || context_.shutting_down()) return;
    if (!held_back) return bring_about();
    end_others();  // before any of them is granted
  }

 private:
  void bring_about();
  bool is_current(SlotId slot) const;
  bool end_others();
  void make(std::uint32_t partition);

  KeysState& state_;
  Context& context_;
  Slots& slots_;
  Ranks& ranks_;
  Placement& placement_;
  Requests& requests_;
};

}  // namespace tenure

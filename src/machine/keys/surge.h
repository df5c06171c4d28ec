#pragma once

// Surge: while a partition has fallen behind, idle workers hold some of its parts.
//
// Each part reports its backlog as its checkpoint. With each report this looks at the backlogs of all parts. A part of
// a partition that is behind goes from its primary to an idle worker which may hold it anyway, if that makes the larger
// of their two backlogs smaller. It is taken back when the backlog of its partition has fallen below half of the bound,
// or when its holder's own partitions are behind. A part on loan keeps its rank: if its holder goes, it is placed as
// ever.
//
// A report lends one part at most. So the next one sees what the last loan has changed.

#include <cstdint>
#include <vector>

#include "machine/context.h"
#include "machine/keys/keys_state.h"
#include "machine/keys/placement.h"
#include "machine/keys/ranks.h"

namespace tenure {

class Surge {
 public:
  Surge(KeysState& state, Context& context, Ranks& ranks, Placement& placement)
      : state_(state), context_(context), ranks_(ranks), placement_(placement) {}

  // The holder of the key has reported its backlog.
  void reported(SlotId slot);
  // A backlog may have changed in another way.
  void review() {
    if (ring().surge != 0) take_back(count());
  }

 private:
  struct Backlogs {
    std::vector<std::uint64_t> of_partition;
    std::vector<std::uint64_t> with_worker;  // by WorkerIx: of all parts that it should hold
    std::vector<std::uint64_t> own;          // the same, without those on loan
  };

  const Ring& ring() const { return context_.config().ring; }
  std::uint32_t partition(SlotId slot) const { return partition_of_part(ring(), state_.table.slots[slot].partition); }
  std::uint64_t backlog(SlotId slot) const;
  Backlogs count() const;
  void take_back(const Backlogs& backlogs);
  void lend(std::uint32_t partition, const Backlogs& backlogs);
  WorkerIx helper(SlotId slot, const Backlogs& backlogs) const;

  KeysState& state_;
  Context& context_;
  Ranks& ranks_;
  Placement& placement_;
};

}  // namespace tenure

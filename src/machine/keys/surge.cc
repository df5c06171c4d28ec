#include "machine/keys/surge.h"

#include <algorithm>
#include <tuple>

#include "base/mutant.h"
#include "machine/backlog.h"

namespace tenure {

std::uint64_t Surge::backlog(SlotId slot) const {
  const Slot& entry = state_.table.slots[slot];
  // What nobody may hold until a person looks at it says nothing of the others.
  const bool set_aside = entry.state == JobState::dead || entry.state == JobState::quarantined;
  if (entry.head == kNone || set_aside) return 0;
  const KeptJob& job = state_.table.jobs[entry.head];
  if (!job.extra || !job.extra->has_checkpoint) return 0;
  return std::min(read_backlog(job.extra->checkpoint).value_or(0), kBacklogMax);
}

Surge::Backlogs Surge::count() const {
  Backlogs backlogs{std::vector<std::uint64_t>(ring().partitions), std::vector<std::uint64_t>(state_.workers.end()),
                    std::vector<std::uint64_t>(state_.workers.end())};
  for (const SlotId slot : state_.partitions) {
    if (slot == kNone) continue;
    const std::uint64_t left = backlog(slot);
    backlogs.of_partition[partition(slot)] += left;
    const WorkerIx target = state_.table.placed[slot].target;
    if (target == kNone) continue;
    backlogs.with_worker[target] += left;
    if (!ranks_.is_lent(slot)) backlogs.own[target] += left;
  }
  return backlogs;
}

void Surge::reported(SlotId slot) {
  if (ring().surge == 0 || !ranks_.is_partition(slot)) return;
  review();
  lend(partition(slot), count());
}

void Surge::take_back(const Backlogs& backlogs) {
  if (MUTANT(surge_never_returns)) return;
  for (const SlotId slot : state_.partitions) {
    if (slot == kNone || !ranks_.is_lent(slot)) continue;
    const bool gone = backlogs.of_partition[partition(slot)] < (ring().surge + 1) / 2;
    if (gone || backlogs.own[state_.table.placed[slot].target] >= ring().surge) placement_.lend(slot, kNone);
  }
}

// The part with the largest backlog that an idle worker can do something about.
void Surge::lend(std::uint32_t of, const Backlogs& backlogs) {
  if (backlogs.of_partition[of] < ring().surge && !MUTANT(surge_without_backlog)) return;
  SlotId best = kNone;
  WorkerIx to = kNone;
  for (const SlotId slot : state_.partitions) {
    if (slot == kNone || partition(slot) != of || ranks_.is_lent(slot)) continue;
    const Placed& placed = state_.table.placed[slot];
    const bool settled = placed.holder != kNone && placed.holder == placed.target &&
                         state_.table.slots[slot].state == JobState::running && state_.workers[placed.holder].open();
    if (!settled || ranks_.rank(placed.holder, slot) != Rank::primary) continue;
    if (best != kNone && backlog(slot) <= backlog(best)) continue;
    const WorkerIx found = helper(slot, backlogs);
    if (found == kNone) continue;
    best = slot;
    to = found;
  }
  if (best != kNone) placement_.lend(best, to);
}

// The idle worker with the smallest backlog that may hold the part.
WorkerIx Surge::helper(SlotId slot, const Backlogs& backlogs) const {
  const WorkerIx from = state_.table.placed[slot].target;
  const auto order = [&](WorkerIx ix) {
    const std::uint32_t ordinal = state_.workers[ix].ordinal;
    return std::tuple(backlogs.with_worker[ix], ring_distance(ring(), state_.table.slots[slot].partition, ordinal));
  };
  WorkerIx best = kNone;
  for (const WorkerIx ix : state_.workers.by_age) {
    if (ix == from || !state_.workers[ix].open() || !placement_.takes(ix, slot)) continue;
    const bool idle = backlogs.own[ix] < ring().surge;
    const bool helps = backlogs.with_worker[ix] + backlog(slot) < backlogs.with_worker[from];
    if (idle && helps && (best == kNone || order(ix) < order(best))) best = ix;
  }
  return best;
}

}  // namespace tenure

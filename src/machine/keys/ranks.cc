#include "machine/keys/ranks.h"

#include <algorithm>
#include <optional>

#include "base/mutant.h"
#include "machine/own_names.h"

namespace tenure {

void Ranks::added(SlotId slot) {
  if (ring().partitions == 0) return;
  const std::optional<std::uint32_t> number = partition_of_key(state_.table.slots[slot].key);
  if (!number || *number >= kPartitionsMax || state_.table.slots[slot].kind != JobKind::resident) return;
  if (state_.partitions.size() <= *number) state_.partitions.resize(*number + 1, kNone);
  state_.partitions[*number] = slot;
  state_.table.slots[slot].partition = static_cast<std::uint16_t>(*number);
  state_.partitions_due = true;
}

void Ranks::removed(SlotId slot) {
  if (!is_partition(slot)) return;
  state_.partitions[state_.table.slots[slot].partition] = kNone;
  state_.table.slots[slot].partition = kNoPartition;
  state_.partitions_due = true;
}

void Ranks::rebuild() {
  state_.partitions.clear();
  state_.partitions_due = ring().partitions != 0;
  for (SlotId slot = 0; slot < state_.table.slots.end(); ++slot) {
    state_.table.slots[slot].partition = kNoPartition;
    if (state_.table.slots[slot].live) added(slot);
  }
}

// Partitions that are on their way to it count, too: when a worker dies, all of its partitions are placed in one step.
std::uint32_t Ranks::load(WorkerIx ix, SlotId but_for) const {
  std::uint32_t load = 0;
  for (const SlotId slot : state_.partitions) {
    if (slot == kNone || slot == but_for) continue;
    const Placed& placed = state_.table.placed[slot];
    load += (MUTANT(partition_load_of_holders) ? placed.holder : placed.target) == ix ? 1 : 0;
  }
  return load;
}

WorkerIx Ranks::best_of(SlotId slot, const std::vector<WorkerIx>& workers) const {
  std::vector<RankedPlace> places;
  places.reserve(workers.size());
  for (const WorkerIx ix : workers) {
    // The load of one that may not hold it does not matter.
    places.push_back({state_.workers[ix].ordinal, may_hold(ix, slot) ? load(ix, slot) : 0});
  }
  const std::size_t best = ranked_choose(ring(), state_.table.slots[slot].partition, places);
  return best == workers.size() ? kNone : workers[best];
}

WorkerIx Ranks::choose(SlotId slot, const Crowd& takers) const {
  const WorkerIx now = state_.table.placed[slot].target;
  const bool stays = now != kNone && may_hold(now, slot) &&
                     std::find(takers.workers.begin(), takers.workers.end(), now) != takers.workers.end();
  if (!stays) return best_of(slot, takers.workers);
  if (is_lent(slot)) return now;
  std::vector<WorkerIx> better;
  for (const WorkerIx ix : takers.workers) {
    if (prefers(slot, ix)) better.push_back(ix);
  }
  return better.empty() ? now : best_of(slot, better);
}

bool Ranks::prefers(SlotId slot, WorkerIx ix) const {
  if (!may_hold(ix, slot)) return false;
  const WorkerIx now = state_.table.placed[slot].target;
  if (now == kNone || !state_.workers[now].open()) return true;
  if (is_lent(slot)) return false;
  if (MUTANT(secondary_never_yields)) return false;
  return rank(ix, slot) < rank(now, slot) && settled(ix);
}

void Ranks::watch(WorkerIx ix) {
  forget(ix);
  PoolWorker& worker = state_.workers[ix];
  if (worker.ordinal == kNoOrdinal || settled(ix) || MUTANT(primary_never_settles)) return;
  arm(ix, worker.joined_ms + ring().settle_ms);
}

void Ranks::diverted(SlotId slot) {
  const std::uint32_t partition = partition_of_part(ring(), state_.table.slots[slot].partition);
  for (const WorkerIx ix : state_.workers.by_age) {
    const PoolWorker& worker = state_.workers[ix];
    if (worker.ordinal != partition || !worker.open() || worker.settle_due_ms != 0) continue;
    arm(ix, context_.log_time_ms() + kTriedAgainMs);
  }
}

void Ranks::arm(WorkerIx ix, std::int64_t due_ms) {
  PoolWorker& worker = state_.workers[ix];
  worker.settle_due_ms = std::max<std::int64_t>(due_ms, 1);
  worker.settle_stamp = context_.next_stamp();
  context_.timers().insert({worker.settle_due_ms, worker.settle_stamp, TimerKind::settle, ix});
}

void Ranks::forget(WorkerIx ix) {
  PoolWorker& worker = state_.workers[ix];
  if (worker.settle_due_ms == 0) return;
  context_.timers().erase({worker.settle_due_ms, worker.settle_stamp, TimerKind::settle, ix});
  worker.settle_due_ms = 0;
}

}  // namespace tenure

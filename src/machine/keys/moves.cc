#include "machine/keys/moves.h"

#include <algorithm>

#include "machine/limits.h"

namespace tenure {

void Moves::add(SlotId slot) {
  const Placed& placed = state_.table.placed[slot];
  state_.queues[placed.holder].moves[placed.target].push_back({slot, state_.table.slots[slot].stamp});
  count(placed.target, +1);
}

void Moves::count(WorkerIx target, std::int64_t change) {
  if (target != kNone) state_.queues[target].wanted += static_cast<std::uint64_t>(change);
}

// Where nobody is to have it, the key leaves its holder at once; unless some worker might recover, and take it then.
bool Moves::has_room(WorkerIx target) const {
  if (target != kNone) return fitness_.room_for_moves(target) != 0;
  return std::none_of(state_.workers.by_age.begin(), state_.workers.by_age.end(),
                      [&](WorkerIx ix) { return state_.workers[ix].fitness.unfit && !state_.workers[ix].draining; });
}

bool Moves::valid(const QueueItem& item, WorkerIx target) const {
  const Slot& slot = state_.table.slots[item.slot];
  return slot.live && slot.stamp == item.stamp && slot.state == JobState::running &&
         state_.table.placed[item.slot].target == target;
}

std::uint32_t Moves::load(WorkerIx target) const {
  if (target == kNone) return 0;
  return state_.workers[target].arriving + state_.workers[target].starting;
}

SlotId Moves::take(WorkerIx holder) {
  auto& moves = state_.queues[holder].moves;
  if (state_.workers[holder].moving >= kMovingMax) return kNone;
  auto best = moves.end();
  for (auto at = moves.begin(); at != moves.end();) {
    auto& [target, waiting] = *at;
    while (!waiting.empty() && !valid(waiting.front(), target)) {
      waiting.pop_front();
      count(target, -1);
    }
    if (waiting.empty()) {
      at = moves.erase(at);
      continue;
    }
    if (has_room(target) && (best == moves.end() || load(target) < load(best->first))) best = at;
    ++at;
  }
  if (best == moves.end()) return kNone;
  const SlotId slot = best->second.front().slot;
  best->second.pop_front();
  count(best->first, -1);
  return slot;
}

void Moves::forget(WorkerIx holder) {
  for (const auto& [target, waiting] : state_.queues[holder].moves)
    count(target, -static_cast<std::int64_t>(waiting.size()));
  state_.queues[holder].moves.clear();
}

void Moves::count_wanted(KeysState& state) {
  for (WorkerQueues& queues : state.queues) queues.wanted = 0;
  for (const WorkerQueues& queues : state.queues) {
    for (const auto& [target, waiting] : queues.moves) {
      if (target != kNone) state.queues[target].wanted += waiting.size();
    }
  }
}

}  // namespace tenure

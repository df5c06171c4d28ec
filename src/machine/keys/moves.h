#pragma once

// Keys that are to be taken from the workers that hold them, because others should have them. Where there are many they
// move in portions: as many at a time as the holder can do without, and as many as the next holder is trusted with
// (Fitness). They wait by where they go, so that a worker which takes none holds up no others.

#include <cstdint>
#include <deque>

#include "machine/keys/fitness.h"
#include "machine/keys/keys_state.h"

namespace tenure {

class Moves {
 public:
  Moves(KeysState& state, const Fitness& fitness) : state_(state), fitness_(fitness) {}

  // The key's holder is not its target.
  void add(SlotId slot);
  // The next key that is to leave the holder now; or none. Where several workers wait for keys of it, the one with the
  // fewest on their way comes first.
  SlotId take(WorkerIx holder);
  // Whether some key waits until the target (or none) has room.
  bool waits(WorkerIx holder, WorkerIx target) const { return state_.queues[holder].moves.contains(target); }
  // The holder is gone.
  void forget(WorkerIx holder);
  // After a restore.
  static void count_wanted(KeysState& state);

 private:
  bool valid(const QueueItem& item, WorkerIx target) const;
  std::uint32_t load(WorkerIx target) const;
  bool has_room(WorkerIx target) const;
  void count(WorkerIx target, std::int64_t change);

  KeysState& state_;
  const Fitness& fitness_;
};

}  // namespace tenure

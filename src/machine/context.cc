#include "machine/context.h"

#include <algorithm>

#include "base/mutant.h"
#include "machine/limits.h"

namespace tenure {

std::uint64_t Context::engine_us() const {
  constexpr auto kEngineMsMax = static_cast<std::int64_t>(kEpochFloorMax / 1000);
  return static_cast<std::uint64_t>(std::min(frame_.engine_ms, kEngineMsMax)) * 1000;
}

void Context::raise_epoch(std::uint64_t floor) { frame_.epoch = std::max(frame_.epoch, floor); }

// Epochs only grow, and no two grants of a pool have the same: the epochs of a shard, modulo the number of shards, are
// the shard's index. They start from the engine's time, so they stay above all earlier ones even if the log lost its
// tail, or was removed and created again. The engine counts milliseconds. The microseconds come from the holder's
// session, so two logs, one of which replaced the other, almost never give the same epoch.
std::uint64_t Context::next_epoch(std::uint64_t session) {
  const std::uint64_t floor =
      MUTANT(epoch_from_position) || epochs_forgotten_ ? frame_.position : engine_us() + hash_mix(session, 0) % 1000;
  const Shard& shard = frame_.config.shard;
  std::uint64_t epoch = std::max(frame_.epoch + 1, floor);
  // Divisions by a variable: most pools have one shard and need none.
  if (shard.count > 1) epoch += (shard.index + shard.count - epoch % shard.count) % shard.count;
  frame_.epoch = epoch;
  return epoch;
}

}  // namespace tenure

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

// Epochs only grow, and no two grants of a pool share one: those of a shard leave its number when they are divided by
// the number of shards. They start from the engine's time, so that they go on above all earlier ones when the log
// itself lost its tail, or was removed and made anew. The engine counts in milliseconds; the rest of the microseconds
// comes from the holder's session, so that two logs, of which one has replaced the other, hardly ever give the same
// epoch.
std::uint64_t Context::next_epoch(std::uint64_t session) {
  const std::uint64_t floor = MUTANT(epoch_from_position) ? frame_.position : engine_us() + hash_mix(session, 0) % 1000;
  const Shard& shard = frame_.config.shard;
  std::uint64_t epoch = std::max(frame_.epoch + 1, floor);
  epoch += (shard.index + shard.count - epoch % shard.count) % shard.count;
  frame_.epoch = epoch;
  return epoch;
}

}  // namespace tenure

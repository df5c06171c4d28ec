#pragma once

// tenure bench handoff --partitions: restarts replicas one after the other, and measures how long each partition has no
// holder.

#include <cstdint>

#include "base/distribution.h"
#include "base/result.h"
#include "cli/bench/place.h"

namespace tenure::cli {

struct PartitionMoves {
  std::uint64_t moves = 0;
  std::uint64_t moves_minimum = 0;
  std::uint64_t double_holders = 0;
  Distribution gaps;     // of all moves: from the end of the last item to the beginning of the next one elsewhere
  Distribution returns;  // of those to a primary that is back
};

// Each of `partitions` replicas is restarted `rounds` times; with `replace`, the new one names the one that it
// replaces.
Result<PartitionMoves> move_partitions(const BenchSpot& spot, std::uint32_t partitions, std::uint64_t rounds,
                                       bool replace);

}  // namespace tenure::cli

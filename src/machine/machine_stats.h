#pragma once

#include <cstdint>

namespace tenure {

// Counts of this process's machine; not part of the state.
struct MachineStats {
  std::uint64_t entries = 0;
  std::uint64_t entries_skipped = 0;  // broken, foreign, or of an unknown format
  std::uint64_t batches_repeated = 0;
  std::uint64_t records = 0;
  std::uint64_t records_unknown = 0;
  std::uint64_t records_refused = 0;
  std::uint64_t grants = 0;
  std::uint64_t moves = 0;
  std::uint64_t dead_dropped = 0;
  std::uint64_t emits = 0;          // that were taken in
  std::uint64_t emitted_tasks = 0;  // of them
};

}  // namespace tenure

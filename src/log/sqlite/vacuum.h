#pragma once

// Returns pages that a trim has freed to the disk, from the end of the file, in steps. While the log is busy it keeps
// some, because they will be needed again soon. If nothing is appended between two steps, it frees almost all of them,
// and truncates the WAL.

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

// Belongs to the writer's thread. Requires the write turn.
class Vacuum {
 public:
  // One step of some milliseconds. Returns true when nothing is left to do.
  Result<bool> step(Connection& connection);

 private:
  std::optional<std::int64_t> last_entry_;
};

}  // namespace tenure::sqlite

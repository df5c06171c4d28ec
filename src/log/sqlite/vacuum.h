#pragma once

// Gives the pages that a trim has freed back to the disk, from the end of the file, in steps. While the log is busy
// some are kept, since it will soon need them again; where nothing is appended between two steps, nearly all of them
// go, and the WAL starts over as an empty file.

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

// Belongs to the writer's thread, which has the write turn.
class Vacuum {
 public:
  // One step of some milliseconds. True when there is nothing left to do.
  Result<bool> step(Connection& connection);

 private:
  std::optional<std::int64_t> last_entry_;
};

}  // namespace tenure::sqlite

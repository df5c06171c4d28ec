#pragma once

// Work on the file that is not an append: storing a snapshot, trimming, removing the pool. The writer runs it in short
// steps between batches of appends, so that a large chore never delays a beat.

#include "base/result.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

class Chore {
 public:
  virtual ~Chore() = default;
  // One bounded step, on the writer's thread, with the write turn held and no transaction open. True when finished.
  virtual Result<bool> step(Connection& connection) = 0;
  // True if it removes committed entries.
  virtual bool drops_entries() const { return false; }
};

}  // namespace tenure::sqlite

#pragma once

// Removes the pool's files. Handles that have them open find that the path leads elsewhere, and fail with lost_history.

#include "log/sqlite/chore.h"

namespace tenure::sqlite {

class Remove final : public Chore {
 public:
  Result<bool> step(Connection& connection) override;
  bool drops_entries() const override { return true; }
};

}  // namespace tenure::sqlite

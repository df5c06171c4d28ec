#pragma once

// Drops entries from the front of the log, but none at or after the one that the stored snapshot stands on.

#include "log/log.h"
#include "log/sqlite/chore.h"

namespace tenure::sqlite {

class Trim final : public Chore {
 public:
  explicit Trim(Position before) : before_(before) {}

  Result<bool> step(Connection& connection) override;
  bool drops_entries() const override { return true; }

 private:
  const Position before_;
};

}  // namespace tenure::sqlite

#pragma once

// Removes entries from the front of the log, but none at or after the entry that the stored snapshot is based on. Then
// the file shrinks (vacuum.h).

#include "log/log.h"
#include "log/sqlite/chore.h"
#include "log/sqlite/vacuum.h"

namespace tenure::sqlite {

class Trim final : public Chore {
 public:
  explicit Trim(Position before) : before_(before) {}

  Result<bool> step(Connection& connection) override;
  bool drops_entries() const override { return true; }

 private:
  Result<bool> drop(Connection& connection) const;

  const Position before_;
  bool dropped_ = false;
  Vacuum vacuum_;
};

}  // namespace tenure::sqlite

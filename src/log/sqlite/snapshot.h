#pragma once

// Stores a snapshot chunk by chunk under a new id. Then one transaction makes it the newest and drops all older ones,
// including those that a crash or a closed handle left incomplete.

#include "log/log.h"
#include "log/sqlite/chore.h"

namespace tenure::sqlite {

class StoreSnapshot final : public Chore {
 public:
  explicit StoreSnapshot(Snapshot snapshot) : snapshot_(std::move(snapshot)) {}

  Result<bool> step(Connection& connection) override;

 private:
  enum class Phase { begin, write, sweep };

  Status begin(Connection& connection);
  Status write(Connection& connection);
  Status publish(Connection& connection);
  Result<bool> superseded(Connection& connection) const;

  Snapshot snapshot_;
  Phase phase_ = Phase::begin;
  std::int64_t id_ = 0;
  std::size_t written_ = 0;  // chunks
};

// Loads the newest complete snapshot, or an empty one, in one read transaction.
Result<Snapshot> load_newest_snapshot(Connection& connection);

}  // namespace tenure::sqlite

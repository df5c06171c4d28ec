#pragma once

// Snapshots: stored chunk by chunk under an id of their own, then made the newest in one transaction, which also
// strikes all that are not newer. What a crash or a closed handle left unfinished is struck by the next one.

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

// The newest complete snapshot, or an empty one, in one read transaction.
Result<Snapshot> load_newest_snapshot(Connection& connection);

}  // namespace tenure::sqlite

#pragma once

// Keeps a database's WAL short: has it moved into the database while the writer goes on, lets it start over, and frees
// its space when nothing happens.

#include "log/sqlite/checkpointer.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

// Belongs to the writer's thread.
class WalBound {
 public:
  // Counts the commits of `writing`, which must outlive this object. The other connections are for the checkpointer.
  WalBound(Connection& writing, Connection checkpoints, Connection syncs);
  WalBound(const WalBound&) = delete;
  WalBound& operator=(const WalBound&) = delete;

  // Call it after each commit, with the write turn held. `syncs`: true if commits are synced.
  void keep(bool syncs);

  // True if the file is long and a quiet moment could truncate it.
  bool wants_quiet() const { return tries_left_ > 0; }
  // Call it in such a moment, with the write turn held. `whole`: true if the files are still the pool's.
  void empty(bool whole);

 private:
  Connection& writing_;
  int pages_ = 0;
  int due_ = kWalPagesStep;  // once the WAL has this many pages
  int tries_left_ = 0;
  Checkpointer checkpointer_;
};

}  // namespace tenure::sqlite

#pragma once

// Keeps a database's WAL short: has it moved into the database while the writer goes on, lets it start over, and gives
// its bytes back to the disk when nothing is going on.

#include "log/sqlite/checkpointer.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

// Belongs to the writer's thread.
class WalBound {
 public:
  // Counts what is committed through `writing`, which must outlive this. The others are the checkpointer's.
  WalBound(Connection& writing, Connection checkpoints, Connection syncs);
  WalBound(const WalBound&) = delete;
  WalBound& operator=(const WalBound&) = delete;

  // After each commit, with the write turn held. `syncs`: whether commits are synced.
  void keep(bool syncs);

  // Whether the file is long, and a quiet moment would do to empty it.
  bool wants_quiet() const { return tries_left_ > 0; }
  // In such a moment, with the write turn held. `whole`: whether the files are still those of the pool.
  void empty(bool whole);

 private:
  Connection& writing_;
  int pages_ = 0;
  int due_ = kWalPagesStep;  // once the WAL has this many pages
  int tries_left_ = 0;
  Checkpointer checkpointer_;
};

}  // namespace tenure::sqlite

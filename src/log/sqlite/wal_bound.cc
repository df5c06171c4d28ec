#include "log/sqlite/wal_bound.h"

#include <algorithm>
#include <utility>

namespace tenure::sqlite {
namespace {

// A reader or another writer may prevent it. A busy writer will have a quiet moment later.
constexpr int kTriesMax = 10;

int note_wal_pages(void* pages, sqlite3* /*db*/, const char* /*name*/, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

}  // namespace

WalBound::WalBound(Connection& writing, Connection checkpoints, Connection syncs)
    : writing_(writing), checkpointer_(std::move(checkpoints), std::move(syncs)) {
  sqlite3_wal_hook(writing_.raw(), note_wal_pages, &pages_);
}

void WalBound::keep(bool syncs) {
  if (pages_ >= kWalPagesStep) tries_left_ = kTriesMax;
  if (pages_ < due_) {
    // Either the checkpoint is not finished, or the WAL has started over.
    due_ = std::min(due_, (pages_ / kWalPagesStep + 1) * kWalPagesStep);
    return;
  }
  const bool long_enough = pages_ >= kWalPagesMax;
  const bool little_left = pages_ - checkpointer_.moved() <= kWalRestMax;
  if (long_enough && (little_left || pages_ >= kWalPagesLimit)) {
    checkpointer_.finish(writing_);
    due_ = pages_ + kWalPagesRetry;
    return;
  }
  const bool sync = pages_ >= kWalPagesSync && syncs;
  checkpointer_.due(sync ? Checkpointer::Then::sync : Checkpointer::Then::nothing);
  due_ = pages_ + (long_enough ? 1 : kWalPagesStep);
}

void WalBound::empty(bool whole) {
  --tries_left_;
  if (whole && checkpointer_.empty(writing_)) tries_left_ = 0;
}

}  // namespace tenure::sqlite

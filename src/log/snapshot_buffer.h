#pragma once

// Keeps a snapshot in memory until it is committed, for engines that store it in one piece.

#include <string>
#include <utility>

#include "log/log.h"

namespace tenure {

// The limit on the size of a snapshot.
constexpr std::size_t kSnapshotBytesMax = std::size_t{1} << 30;

// Used from one thread.
class SnapshotBuffer {
 public:
  explicit SnapshotBuffer(Cursor at) { snapshot_.cursor = at; }

  void add(Bytes chunk) {
    bytes_ += chunk.size();
    oversized_ = oversized_ || chunk.size() > kEntryBytesMax || bytes_ > kSnapshotBytesMax;
    if (!oversized_) snapshot_.chunks.push_back(std::move(chunk));
  }

  // Moves everything out of the buffer.
  Result<Snapshot> take(const std::string& operation) {
    if (oversized_) return fail(Errc::invalid, operation, "a chunk, or the whole snapshot, is too large");
    return std::move(snapshot_);
  }

 private:
  Snapshot snapshot_;
  std::size_t bytes_ = 0;
  bool oversized_ = false;
};

}  // namespace tenure

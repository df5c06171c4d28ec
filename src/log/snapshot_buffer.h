#pragma once

// A snapshot that is kept in memory until it is committed, for engines that store it in one go.

#include <string>
#include <utility>

#include "log/log.h"

namespace tenure {

// What a snapshot may weigh.
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

  // All of it, and none is left.
  Result<Snapshot> take(const std::string& operation) {
    if (oversized_) return fail(Errc::invalid, operation, "a chunk, or the whole, is too large");
    return std::move(snapshot_);
  }

 private:
  Snapshot snapshot_;
  std::size_t bytes_ = 0;
  bool oversized_ = false;
};

}  // namespace tenure

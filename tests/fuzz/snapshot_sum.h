#pragma once

// Corrects the sum of a snapshot with any content, to reach the checks after the sum.

#include <vector>

#include "base/bytes.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure::test {

inline Bytes snapshot_of(const Bytes& global, const std::vector<Bytes>& items) {
  v1::SnapshotChunk chunk;
  std::uint64_t sum = hash_bytes(global);
  for (const Bytes& item : items) {
    sum += hash_bytes(item);
    chunk.add_items(item);
  }
  chunk.set_global(global);
  chunk.mutable_tail()->set_items(items.size());
  chunk.mutable_tail()->set_sum(sum);
  return chunk.SerializeAsString();
}

}  // namespace tenure::test

#pragma once

// A pool's keys may be divided among shards, each with its own log and machine. Only the key and the number of shards
// determine the shard, so every process can compute it.

#include <cstdint>

#include "base/bytes.h"

namespace tenure {

constexpr std::uint32_t kShardsMax = 256;

struct Shard {
  std::uint32_t index = 0;
  std::uint32_t count = 1;  // how many shards the pool has

  friend bool operator==(const Shard&, const Shard&) = default;
};

// Mixed once more, because the plain hash decides which worker of a shard gets the key. Part of the formats.
inline std::uint32_t shard_of(BytesView key, std::uint32_t count) {
  return static_cast<std::uint32_t>(hash_mix(hash_bytes(key), 0x7368617264ULL) % count);
}

}  // namespace tenure

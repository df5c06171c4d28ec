#pragma once

// A pool's keys may be divided among shards, each with a log and a machine of its own. A key's shard is a matter of the
// key and the number of shards alone, so that every process knows it without asking.

#include <cstdint>

#include "base/bytes.h"

namespace tenure {

constexpr std::uint32_t kShardsMax = 256;

struct Shard {
  std::uint32_t index = 0;
  std::uint32_t count = 1;  // of the pool

  friend bool operator==(const Shard&, const Shard&) = default;
};

// Mixed once more, since the hash itself decides who of a shard's workers is given the key. Part of the formats.
inline std::uint32_t shard_of(BytesView key, std::uint32_t count) {
  return static_cast<std::uint32_t>(hash_mix(hash_bytes(key), 0x7368617264ULL) % count);
}

}  // namespace tenure

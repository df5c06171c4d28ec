#pragma once

// Describes a snapshot whose chunks are in the topic of the snapshots. It is the value of a record of kind `manifest`
// with the snapshot's tag as its link:
//
//   shard(4) shards(4) position(8) hash(8) time(8) first(8) end(8) chunks(4) pool

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "log/log.h"

namespace tenure::kafka {

struct Manifest {
  std::uint64_t log = 0;    // from the key
  std::uint64_t tag = 0;    // from the key
  std::int64_t offset = 0;  // of the record
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  Cursor cursor;
  std::int64_t time_ms = 0;  // of the cursor's entry (clamp.h)
  std::int64_t first = 0;    // the chunks' first record, and where to stop reading them
  std::int64_t end = 0;
  std::uint32_t chunks = 0;
  std::string pool;
};

// Without log, tag and offset.
std::string encode(const Manifest& manifest);
std::optional<Manifest> decode_manifest(std::string_view bytes);

}  // namespace tenure::kafka

#pragma once

// What the engine writes to Kafka. A record's key is ours, its value is what the pool gave us, byte for byte, so that
// any consumer can read a log.
//
//   key    'T' '1' kind log(8) link(8)                   words have their lowest byte first
//          for a piece:      index(4)
//          for a last piece, or a part of a chunk: index(4) first(8)
//
//   birth     the first record of a log. The log's id is the one that it brings. Value: shard(4) shards(4) pool
//   entry     an entry in one record
//   piece     a part of an entry that is too large for one record, but not its last one
//   last      the last part. Its offset is the entry's, and `first` is the offset of the first part
//   chunk     in the topic of the snapshots: a part of a chunk. The link is the snapshot's tag, `index` the number of
//             the chunk, and `first` the number of parts that follow
//   manifest  there, too: a stored snapshot (manifest.h)
//
// The link is random. It identifies a record: another one at the same offset has another link. All parts of an entry
// have the same.
//
// A position is an offset plus one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "log/log.h"

namespace tenure::kafka {

enum class Kind : char { birth = 'B', entry = 'E', piece = 'P', last = 'L', chunk = 'C', manifest = 'M' };

struct Key {
  Kind kind = Kind::entry;
  std::uint64_t log = 0;
  std::uint64_t link = 0;
  std::uint32_t index = 0;  // pieces and chunks
  std::int64_t first = 0;   // last pieces

  friend bool operator==(const Key&, const Key&) = default;
};

std::string encode(const Key& key);
// Nothing if it is not ours.
std::optional<Key> decode_key(std::string_view bytes);

struct Birth {
  std::uint32_t shard = 0;
  std::uint32_t shards = 1;
  std::string pool;
};

std::string encode(const Birth& birth);
std::optional<Birth> decode_birth(std::string_view bytes);

constexpr Position position_of(std::int64_t offset) { return static_cast<Position>(offset) + 1; }
constexpr std::int64_t offset_of(Position position) { return static_cast<std::int64_t>(position) - 1; }

// A part of an entry or of a chunk. Below the size that every topic takes (topics.h).
constexpr std::size_t kPieceBytes = 900'000;
constexpr std::size_t pieces_of(std::size_t bytes) { return bytes == 0 ? 1 : (bytes + kPieceBytes - 1) / kPieceBytes; }

// Appends a word, lowest byte first, and takes it off again.
void put_word(std::string& to, std::uint64_t word, std::size_t bytes = 8);
std::optional<std::uint64_t> take_word(std::string_view& from, std::size_t bytes = 8);

}  // namespace tenure::kafka

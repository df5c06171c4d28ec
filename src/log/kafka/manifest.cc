#include "log/kafka/manifest.h"

#include "base/shard.h"
#include "log/kafka/record.h"

namespace tenure::kafka {

std::string encode(const Manifest& manifest) {
  std::string bytes;
  put_word(bytes, manifest.shard, 4);
  put_word(bytes, manifest.shards, 4);
  put_word(bytes, manifest.cursor.position);
  put_word(bytes, manifest.cursor.hash);
  put_word(bytes, static_cast<std::uint64_t>(manifest.time_ms));
  put_word(bytes, static_cast<std::uint64_t>(manifest.first));
  put_word(bytes, static_cast<std::uint64_t>(manifest.end));
  put_word(bytes, manifest.chunks, 4);
  return bytes + manifest.pool;
}

std::optional<Manifest> decode_manifest(std::string_view bytes) {
  const auto shard = take_word(bytes, 4);
  const auto shards = take_word(bytes, 4);
  const auto position = take_word(bytes);
  const auto hash = take_word(bytes);
  const auto time_ms = take_word(bytes);
  const auto first = take_word(bytes);
  const auto end = take_word(bytes);
  const auto chunks = take_word(bytes, 4);
  if (!shard || !shards || !position || !hash || !time_ms || !first || !end || !chunks) return std::nullopt;
  if (*shards == 0 || *shards > kShardsMax || *shard >= *shards || *position == 0 || *first > *end) return std::nullopt;
  Manifest manifest;
  manifest.shard = static_cast<std::uint32_t>(*shard);
  manifest.shards = static_cast<std::uint32_t>(*shards);
  manifest.cursor = {*position, *hash};
  manifest.time_ms = static_cast<std::int64_t>(*time_ms);
  manifest.first = static_cast<std::int64_t>(*first);
  manifest.end = static_cast<std::int64_t>(*end);
  manifest.chunks = static_cast<std::uint32_t>(*chunks);
  manifest.pool = bytes;
  return manifest;
}

}  // namespace tenure::kafka

#include "log/kafka/record.h"

#include "base/shard.h"

namespace tenure::kafka {
namespace {

constexpr std::string_view kMagic = "T1";

bool is_kind(char c) { return std::string_view("BEPLCM").find(c) != std::string_view::npos; }

}  // namespace

void put_word(std::string& to, std::uint64_t word, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to += static_cast<char>(word >> (8 * i) & 0xFF);
}

std::optional<std::uint64_t> take_word(std::string_view& from, std::size_t bytes) {
  if (from.size() < bytes) return std::nullopt;
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes; ++i) word |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
  from.remove_prefix(bytes);
  return word;
}

std::string encode(const Key& key) {
  std::string bytes(kMagic);
  bytes += static_cast<char>(key.kind);
  put_word(bytes, key.log);
  put_word(bytes, key.link);
  if (key.kind == Kind::piece || key.kind == Kind::last || key.kind == Kind::chunk) put_word(bytes, key.index, 4);
  if (key.kind == Kind::last || key.kind == Kind::chunk) put_word(bytes, static_cast<std::uint64_t>(key.first));
  return bytes;
}

std::optional<Key> decode_key(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + 1 || !is_kind(bytes[kMagic.size()])) {
    return std::nullopt;
  }
  Key key{.kind = static_cast<Kind>(bytes[kMagic.size()])};
  bytes.remove_prefix(kMagic.size() + 1);
  const auto log = take_word(bytes);
  const auto link = take_word(bytes);
  if (!log || !link) return std::nullopt;
  key.log = *log;
  key.link = *link;
  if (key.kind == Kind::piece || key.kind == Kind::last || key.kind == Kind::chunk) {
    const auto index = take_word(bytes, 4);
    if (!index) return std::nullopt;
    key.index = static_cast<std::uint32_t>(*index);
  }
  if (key.kind == Kind::last || key.kind == Kind::chunk) {
    const auto first = take_word(bytes);
    if (!first) return std::nullopt;
    key.first = static_cast<std::int64_t>(*first);
  }
  if (!bytes.empty()) return std::nullopt;
  return key;
}

std::string encode(const Birth& birth) {
  std::string bytes;
  put_word(bytes, birth.shard, 4);
  put_word(bytes, birth.shards, 4);
  return bytes + birth.pool;
}

std::optional<Birth> decode_birth(std::string_view bytes) {
  const auto shard = take_word(bytes, 4);
  const auto shards = take_word(bytes, 4);
  if (!shard || !shards || *shards == 0 || *shards > kShardsMax || *shard >= *shards) return std::nullopt;
  return Birth{static_cast<std::uint32_t>(*shard), static_cast<std::uint32_t>(*shards), std::string(bytes)};
}

}  // namespace tenure::kafka

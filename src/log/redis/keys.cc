#include "log/redis/keys.h"

#include "base/bytes.h"

namespace tenure::redis {
namespace {

// Letters, digits and `-_.` stay, other bytes become %xx. A brace would end the hash tag, and `*` would extend an ACL
// rule.
std::string tag_of(std::string_view pool) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string tag;
  for (const char c : pool) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (plain) {
      tag += c;
    } else {
      tag += '%';
      tag += kHex[static_cast<unsigned char>(c) >> 4];
      tag += kHex[static_cast<unsigned char>(c) & 0xF];
    }
  }
  return tag;
}

}  // namespace

Keys::Keys(std::string_view pool, std::uint32_t shard) {
  prefix = "tenure:{" + tag_of(pool) + (shard == 0 ? "" : "/" + std::to_string(shard)) + "}:";
  meta = prefix + "meta";
  head = prefix + "snapshot";
  removed = prefix + "removed";
}

std::string Keys::log(std::uint64_t id) const { return prefix + "log:" + to_hex(id); }

}  // namespace tenure::redis

#include "log/redis/keys.h"

#include "base/bytes.h"
#include "base/escaped_name.h"

namespace tenure::redis {

Keys::Keys(std::string_view pool, std::uint32_t shard) {
  // A brace would end the hash tag, and `*` would extend an ACL rule.
  prefix = "tenure:{" + escaped_name(pool, "-_.", '%') + (shard == 0 ? "" : "/" + std::to_string(shard)) + "}:";
  meta = prefix + "meta";
  head = prefix + "snapshot";
  removed = prefix + "removed";
}

std::string Keys::log(std::uint64_t id) const { return prefix + "log:" + to_hex(id); }

}  // namespace tenure::redis

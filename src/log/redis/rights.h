#pragma once

// The commands that a pool's user must be allowed, on keys ~tenure:{POOL}:* and nothing else. docs/redis.md has the
// rule for users, and tests show that it suffices and that each of them is needed.

#include <array>
#include <string_view>

namespace tenure::redis {

constexpr std::array<std::string_view, 17> kRights = {
    "evalsha", "script|load", "hget", "hmget",  "hset",   "xadd",         "xrange",  "xread",  "xtrim",
    "rpush",   "lindex",      "llen", "exists", "unlink", "xinfo|stream", "persist", "pexpire"};

}  // namespace tenure::redis

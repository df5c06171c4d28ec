#pragma once

// The commands that a pool's user needs, on keys ~tenure:{POOL}:* only. docs/redis.md has the rule for users. Tests
// show that it is sufficient and that each command is needed.

#include <array>
#include <string_view>

namespace tenure::redis {

constexpr std::array<std::string_view, 17> kRights = {
    "evalsha", "script|load", "hget", "hmget",  "hset",   "xadd",         "xrange",  "xread",  "xtrim",
    "rpush",   "lindex",      "llen", "exists", "unlink", "xinfo|stream", "persist", "pexpire"};

}  // namespace tenure::redis

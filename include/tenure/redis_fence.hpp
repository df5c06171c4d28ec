#pragma once

// A guard for a handler's own writes to Redis, as `WHERE epoch <= ?` is one in SQL. Every write goes through a script
// that compares the epoch of the job it is made for with the highest that has written, which is kept under a key of its
// own, the fence. No lease and no clock can stop a paused process from sending one more command; this makes that
// command change nothing.
//
//     tenure::fenced_redis_command("{anna}:fence", "{anna}:balance", job.epoch(), {"SET", "100"})
//
// are the words to send, with any client. In a Redis Cluster both keys must have the same tag in braces. The fence must
// not expire, nor be evicted, before the last holder that could wake up is gone.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure {

// KEYS: the fence, and what is written. ARGV: the epoch, a command, and its arguments after the key. Answers {1, the
// command's own reply}; or {0, the newer epoch}, and has done nothing. Epochs are compared as text, since Lua's numbers
// would round them.
inline constexpr std::string_view kRedisFence = R"(
local seen = redis.call('GET', KEYS[1])
if seen and (#seen > #ARGV[1] or (#seen == #ARGV[1] and seen > ARGV[1])) then return {0, seen} end
if seen ~= ARGV[1] then redis.call('SET', KEYS[1], ARGV[1]) end
return {1, redis.call(ARGV[2], KEYS[2], unpack(ARGV, 3))}
)";

// The words of an EVAL of that script: `command` is a command without its key.
inline std::vector<std::string> fenced_redis_command(std::string fence, std::string key, std::uint64_t epoch,
                                                     const std::vector<std::string>& command) {
  std::vector<std::string> words = {"EVAL",           std::string(kRedisFence), "2",
                                    std::move(fence), std::move(key),           std::to_string(epoch)};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace tenure

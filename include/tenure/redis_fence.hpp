#pragma once

// Protects a handler's writes to Redis against stale holders, as `WHERE epoch <= ?` does in SQL. No lease and no clock
// can stop a paused process from sending one more command; the fence makes that command fail.
//
// Every write goes through a script. The script compares the job's epoch with the highest epoch that has written, which
// it keeps under a separate key, the fence. This returns the words to send with any client:
//
//     tenure::fenced_redis_command("{anna}:fence", "{anna}:balance", job.epoch(), {"SET", "100"})
//
// In a Redis Cluster both keys must have the same hash tag (the part in braces). The fence must not expire or be
// evicted while an old holder could still wake up. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure {

// KEYS: the fence, and the key to write. ARGV: the epoch, a command, and its arguments after the key. Returns {1, the
// command's reply}, or {0, the newer epoch} without writing. It compares epochs as text, because Lua's numbers would
// round them.
inline constexpr std::string_view kRedisFence = R"(
local seen = redis.call('GET', KEYS[1])
if seen and (#seen > #ARGV[1] or (#seen == #ARGV[1] and seen > ARGV[1])) then return {0, seen} end
if seen ~= ARGV[1] then redis.call('SET', KEYS[1], ARGV[1]) end
return {1, redis.call(ARGV[2], KEYS[2], unpack(ARGV, 3))}
)";

// Returns the words of an EVAL of the script. `command` is a command without its key.
inline std::vector<std::string> fenced_redis_command(std::string fence, std::string key, std::uint64_t epoch,
                                                     const std::vector<std::string>& command) {
  std::vector<std::string> words = {"EVAL",           std::string(kRedisFence), "2",
                                    std::move(fence), std::move(key),           std::to_string(epoch)};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace tenure

#include "source/redis/stream_scripts.h"

namespace tenure::source::redis {
namespace {

using tenure::redis::Script;

constexpr std::string_view kLookAt = R"(
local function look_at(key)
  if redis.call('EXISTS', key) == 0 then return false end
  local list, info = redis.call('XINFO', 'STREAM', key), {}
  for i = 1, #list, 2 do info[list[i]] = list[i + 1] end
  if not info['entries-added'] then error({err = 'TENURE-FOREIGN a stream needs Redis 7.0 or newer'}) end
  return {info['entries-added'], info['length'], info['recorded-first-entry-id'], info['last-generated-id'],
          info['max-deleted-entry-id']}
end
)";

constexpr std::string_view kLookOnly = "return look_at(KEYS[1])";

// Counting copies the entries, so it stops at a limit.
constexpr std::string_view kFetchAll = R"(
local look = look_at(KEYS[1])
if not look then return false end
local entries, ahead, marks = {}, -1, {}
if ARGV[2] ~= '0' then
  entries = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])
else
  local from, count, bytes = ARGV[1], 0, 0
  while ahead < 0 and count < 4096 and bytes < 1048576 do
    local page = redis.call('XRANGE', KEYS[1], '(' .. from, '+', 'COUNT', 16)
    count = count + #page
    for _, entry in ipairs(page) do
      for _, word in ipairs(entry[2]) do bytes = bytes + #word end
      from = entry[1]
    end
    if #page < 16 then ahead = count end
  end
end
for i = 3, #ARGV do marks[i - 2] = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1] or false end
return {look, entries, marks, ahead}
)";

// XGROUP CREATE with MKSTREAM creates the stream. The group is destroyed at once.
constexpr std::string_view kCreateStream = R"(
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('XLEN', KEYS[1]) end
redis.call('DEL', KEYS[2])
redis.call('XGROUP', 'CREATE', KEYS[1], 'tenure', '$', 'MKSTREAM')
redis.call('XGROUP', 'DESTROY', KEYS[1], 'tenure')
return 0
)";

constexpr std::string_view kAddAll = R"(
if redis.call('EXISTS', KEYS[1]) == 0 then return 'gone' end
local bound = redis.call('HMGET', KEYS[2], 'events_max', 'at_bound')
local max, count = tonumber(bound[1] or '0'), tonumber(ARGV[1])
local drops = max > 0 and bound[2] == 'drop'
if max > 0 and not drops and redis.call('XLEN', KEYS[1]) + count > max then return {'full', bound[1]} end
local ids, at = {}, 2
for i = 1, count do
  local words = tonumber(ARGV[at])
  if drops then
    ids[i] = redis.call('XADD', KEYS[1], 'MAXLEN', '=', max, '*', unpack(ARGV, at + 1, at + words))
  else
    ids[i] = redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 1, at + words))
  end
  at = at + words + 1
end
return ids
)";

constexpr std::string_view kSetLimits = R"(
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('XLEN', KEYS[1])
if ARGV[1] == '0' then redis.call('DEL', KEYS[2]) return 1 end
redis.call('HSET', KEYS[2], 'events_max', ARGV[1], 'at_bound', ARGV[2])
if ARGV[2] == 'drop' then redis.call('XTRIM', KEYS[1], 'MAXLEN', '=', ARGV[1]) end
return 1
)";

}  // namespace

const StreamScripts& StreamScripts::get() {
  static const StreamScripts* const scripts = new StreamScripts{.look = Script(std::string(kLookAt).append(kLookOnly)),
                                                                .fetch = Script(std::string(kLookAt).append(kFetchAll)),
                                                                .create = Script(std::string(kCreateStream)),
                                                                .add = Script(std::string(kAddAll)),
                                                                .set_limits = Script(std::string(kSetLimits))};
  return *scripts;
}

// A cluster hashes what is between the first { and the next }, unless that is empty, and otherwise the whole key.
std::string limits_key(BytesView stream) {
  const std::size_t open = stream.find('{');
  const std::size_t close = open == BytesView::npos ? open : stream.find('}', open);
  const bool tagged = close != BytesView::npos && close > open + 1;
  return tagged ? "tenure:stream:" + Bytes(stream) : "tenure:stream:{" + Bytes(stream) + "}";
}

}  // namespace tenure::source::redis

#include "log/redis/scripts.h"

#include <openssl/evp.h>

#include <array>
#include <vector>

#include "base/assert.h"
#include "log/redis/command.h"

namespace tenure::redis {
namespace {

constexpr std::string_view kOpen = R"(
local log, meta, head = KEYS[1], KEYS[2], KEYS[3]
local function bad(code, text) return redis.error_reply('TENURE-' .. code .. ' ' .. text) end
local m = redis.call('HMGET', meta, 'format', 'pool', 'id', 'shards', 'shard')
local h = redis.call('HMGET', head, 'position', 'hash', 'chunks', 'tag')
local e = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
if e and e[2][1] ~= 'tenure' then return bad('FOREIGN', log .. ' has entries of another program') end
if not m[1] then
  if redis.call('EXISTS', meta) == 1 then return bad('FOREIGN', meta .. ' is no hash of Tenure') end
  if e or h[1] then return bad('CORRUPT', meta .. ' is gone, other keys are not') end
  if redis.call('EXISTS', log) == 1 then return bad('FOREIGN', log .. ' is a stream of another program') end
  if ARGV[3] == '0' then return bad('ABSENT', 'no log is there, and a read-only opener does not create it') end
  local shards = math.max(tonumber(ARGV[5]), 1)
  local which = shards > 1 and {'shards', ARGV[5], 'shard', ARGV[4]} or {}
  redis.call('HSET', meta, 'format', '1', 'pool', ARGV[1], 'id', ARGV[2], unpack(which))
  return {ARGV[2], tostring(shards), '0', ''}
end
if m[1] ~= '1' then return bad('VERSION', 'the log has format ' .. m[1] .. ', this program speaks 1') end
if m[2] ~= ARGV[1] then return bad('OTHERPOOL', "the log belongs to pool '" .. m[2] .. "'") end
local shards, shard = m[4] or '1', m[5] or '0'
if shard ~= ARGV[4] then return bad('OTHERPOOL', 'the log is that of shard ' .. shard) end
if ARGV[5] ~= '0' and shards ~= ARGV[5] then
  return bad('SHARDS', 'the pool has shards=' .. shards .. ', not ' .. ARGV[5])
end
local need = h[1] or (e and '1')
if need and #redis.call('XRANGE', log, need, need) == 0 then
  return bad('CORRUPT', 'entry ' .. need .. ' is gone: trimmed by another program, deleted or evicted')
end
return {m[3], shards, e and string.match(e[1], '^%d+') or '0', e and e[2][4] or '', h[1], h[2], h[3], h[4]}
)";

// What all others begin with: the log must be the one that the caller believes to be in.
constexpr std::string_view kSameLog = R"(
if redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then
  return redis.error_reply('TENURE-LOST the log was removed, flushed or replaced')
end
)";

constexpr std::string_view kAppend = R"(
local last, time, prev = 0, 0, ARGV[1]
local e = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if e then
  if e[2][1] ~= 'tenure' then
    return redis.error_reply('TENURE-CORRUPT another program has appended to ' .. KEYS[1])
  end
  local position, stamp = string.match(e[1], '(%d+)-(%d+)')
  last, time, prev = tonumber(position), tonumber(stamp), e[2][4]
end
if last < tonumber(ARGV[3]) then return redis.error_reply('TENURE-LOST the last entries are gone') end
local t = redis.call('TIME')
local now = math.max(t[1] * 1000 + math.floor(t[2] / 1000), time)
redis.call('XADD', KEYS[1], string.format('%.0f-%.0f', last + 1, now), 'tenure', ARGV[4], 'link', ARGV[2], 'prev', prev)
return last + 1
)";

constexpr std::string_view kProbe = R"(
if ARGV[2] ~= '0' then
  local e = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
  if e and ARGV[3] == '' then return {'entry', e} end
  if e and e[2][4] == ARGV[3] then return 'ok' end
  if e then return redis.error_reply('TENURE-LOST another entry is in its place') end
end
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local position = first and string.match(first[1], '^%d+')
if position and tonumber(position) > math.max(tonumber(ARGV[2]), 1) then return {'trimmed', position} end
if ARGV[2] == '0' then return 'ok' end
return redis.error_reply('TENURE-LOST the last entries are gone')
)";

constexpr std::string_view kCommit = R"(
local head, chunks = KEYS[3], KEYS[4]
local h = redis.call('HMGET', head, 'position', 'tag', 'before')
if h[1] and tonumber(h[1]) > tonumber(ARGV[2]) then return ARGV[5] end
if redis.call('LLEN', chunks) ~= tonumber(ARGV[4]) then
  return redis.error_reply('TENURE-AGAIN chunks of the snapshot are missing')
end
redis.call('HSET', head, 'position', ARGV[2], 'hash', ARGV[3], 'chunks', ARGV[4], 'tag', ARGV[5],
  'before', h[2] or '')
return h[3] or ''
)";

// A step drops a bounded number of entries: the server does nothing else meanwhile.
constexpr std::string_view kTrim = R"(
local log, head = KEYS[1], KEYS[3]
local h = redis.call('HGET', head, 'position')
local e = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
if not h or not e then return 1 end
local stop = math.min(tonumber(ARGV[2]), tonumber(h))
local to = math.min(stop, tonumber(string.match(e[1], '^%d+')) + 2048)
redis.call('XTRIM', log, 'MINID', '=', string.format('%.0f', to))
return to >= stop and 1 or 0
)";

constexpr std::string_view kRemove = R"(
local log, meta, head = KEYS[1], KEYS[2], KEYS[3]
local keys = {log, meta, head}
for _, tag in ipairs(redis.call('HMGET', head, 'tag', 'before')) do
  if tag and tag ~= '' then table.insert(keys, head .. ':' .. tag) end
end
redis.call('UNLINK', unpack(keys))
return 1
)";

// A write that changes nothing and is sent to the replicas, after all that was written before it.
constexpr std::string_view kMark = R"(
redis.call('HSET', KEYS[2], 'format', '1')
return 1
)";

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, 20> digest{};
  unsigned size = 0;
  ASSERT(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kHex[byte >> 4];
    hex += kHex[byte & 0xF];
  }
  return hex;
}

}  // namespace

Script::Script(std::string text) : source(std::move(text)), sha(sha1_hex(source)) {}

const Scripts& Scripts::get() {
  const auto in_same_log = [](std::string_view body) { return Script(std::string(kSameLog).append(body)); };
  static const Scripts* const scripts = new Scripts{.open = Script(std::string(kOpen)),
                                                    .append = in_same_log(kAppend),
                                                    .probe = in_same_log(kProbe),
                                                    .commit = in_same_log(kCommit),
                                                    .trim = in_same_log(kTrim),
                                                    .remove = in_same_log(kRemove),
                                                    .mark = in_same_log(kMark)};
  return *scripts;
}

Bytes call(const Script& script, std::span<const std::string_view> keys, std::span<const std::string_view> arguments) {
  const std::string count = std::to_string(keys.size());
  std::vector<std::string_view> words = {"EVALSHA", script.sha, count};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return command(words);
}

Bytes load(const Script& script) { return command({"SCRIPT", "LOAD", script.source}); }

}  // namespace tenure::redis

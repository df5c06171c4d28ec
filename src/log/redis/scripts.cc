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
local m = redis.call('HMGET', meta, 'format', 'pool', 'id', 'first', 'last')
local h = redis.call('HMGET', head, 'position', 'hash', 'chunks', 'tag')
if not m[1] then
  local top = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  local removed = top and top[2][1] == 'tenure-removed'
  if redis.call('EXISTS', meta) == 1 then return bad('FOREIGN', meta .. ' is no hash of Tenure') end
  if h[1] or (top and top[2][1] == 'tenure') then return bad('CORRUPT', meta .. ' is gone, other keys are not') end
  if not removed and redis.call('EXISTS', log) == 1 then
    return bad('FOREIGN', log .. ' is a stream of another program')
  end
  if ARGV[3] == '0' then return bad('ABSENT', 'no log is there, and a read-only opener does not create it') end
  redis.call('DEL', log)
  redis.call('HSET', meta, 'format', '1', 'pool', ARGV[1], 'id', ARGV[2], 'first', '1', 'last', '0', 'time', '0',
    'link', ARGV[2])
  return {ARGV[2], '1', '0'}
end
if m[1] ~= '1' then return bad('VERSION', 'the log has format ' .. m[1] .. ', this program speaks 1') end
if m[2] ~= ARGV[1] then return bad('OTHERPOOL', "the log belongs to pool '" .. m[2] .. "'") end
if m[5] ~= '0' then
  local need = h[1] or m[4]
  local e = redis.call('XRANGE', log, need, need)[1]
  if not e then return bad('CORRUPT', 'entry ' .. need .. ' is gone: trimmed by another program, or evicted') end
  if e[2][1] ~= 'tenure' then return bad('FOREIGN', log .. ' has entries of another program') end
end
return {m[3], m[4], m[5], h[1], h[2], h[3], h[4]}
)";

constexpr std::string_view kAppend = R"(
local m = redis.call('HMGET', KEYS[2], 'id', 'last', 'time', 'link')
if m[1] ~= ARGV[1] then return redis.error_reply('TENURE-LOST the log was removed, flushed or replaced') end
local last = tonumber(m[2])
if last < tonumber(ARGV[3]) then return redis.error_reply('TENURE-LOST the last entries are gone') end
local t = redis.call('TIME')
local now = math.max(t[1] * 1000 + math.floor(t[2] / 1000), tonumber(m[3]))
local id = string.format('%.0f-%.0f', last + 1, now)
local added
if last == 0 then
  added = redis.call('XADD', KEYS[1], id, 'tenure', ARGV[4], 'link', ARGV[2], 'prev', m[4])
else
  added = redis.call('XADD', KEYS[1], 'NOMKSTREAM', id, 'tenure', ARGV[4], 'link', ARGV[2], 'prev', m[4])
end
if not added then return redis.error_reply('TENURE-LOST the stream was deleted or evicted') end
redis.call('HSET', KEYS[2], 'last', string.format('%.0f', last + 1), 'time', string.format('%.0f', now),
  'link', ARGV[2])
return last + 1
)";

constexpr std::string_view kProbe = R"(
local m = redis.call('HMGET', KEYS[2], 'id', 'first', 'last')
if m[1] ~= ARGV[1] then return redis.error_reply('TENURE-LOST the log was removed, flushed or replaced') end
local p = tonumber(ARGV[2])
if p > tonumber(m[3]) then return redis.error_reply('TENURE-LOST the last entries are gone') end
if p < tonumber(m[2]) - 1 or (p > 0 and p < tonumber(m[2])) then return {'trimmed', m[2]} end
if p == 0 then return 'ok' end
local e = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
if not e then return redis.error_reply('TENURE-LOST the entry was deleted or evicted') end
if ARGV[3] == '' then return {'entry', e} end
if e[2][4] ~= ARGV[3] then return redis.error_reply('TENURE-LOST another entry is in its place') end
return 'ok'
)";

constexpr std::string_view kCommit = R"(
local meta, head, chunks = KEYS[2], KEYS[3], KEYS[4]
if redis.call('HGET', meta, 'id') ~= ARGV[1] then
  return redis.error_reply('TENURE-LOST the log was removed, flushed or replaced')
end
local h = redis.call('HMGET', head, 'position', 'tag', 'before')
if h[1] and tonumber(h[1]) > tonumber(ARGV[2]) then
  redis.call('UNLINK', chunks)
  return 0
end
if redis.call('LLEN', chunks) ~= tonumber(ARGV[4]) then
  return redis.error_reply('TENURE-AGAIN chunks of the snapshot are missing')
end
redis.call('HSET', head, 'position', ARGV[2], 'hash', ARGV[3], 'chunks', ARGV[4], 'tag', ARGV[5],
  'before', h[2] or '')
redis.call('PERSIST', chunks)
if h[3] and h[3] ~= '' then redis.call('UNLINK', head .. ':' .. h[3]) end
return 1
)";

// A step drops a bounded number of entries: the server does nothing else meanwhile.
constexpr std::string_view kTrim = R"(
local log, meta, head = KEYS[1], KEYS[2], KEYS[3]
local m = redis.call('HMGET', meta, 'id', 'first')
if m[1] ~= ARGV[1] then return redis.error_reply('TENURE-LOST the log was removed, flushed or replaced') end
local h = redis.call('HGET', head, 'position')
if not h then return 1 end
local stop = math.min(tonumber(ARGV[2]), tonumber(h))
local first = tonumber(m[2])
local to = math.min(stop, first + 2048)
if to > first then
  redis.call('XTRIM', log, 'MINID', '=', string.format('%.0f', to))
  redis.call('HSET', meta, 'first', string.format('%.0f', to))
end
return to >= stop and 1 or 0
)";

// An entry says for a while that the log is gone: it wakes those who wait in XREAD, which a deleted key would not.
constexpr std::string_view kRemove = R"(
local log, meta, head = KEYS[1], KEYS[2], KEYS[3]
local m = redis.call('HMGET', meta, 'id', 'last', 'time')
if m[1] ~= ARGV[1] then return redis.error_reply('TENURE-LOST the log was removed, flushed or replaced') end
local h = redis.call('HMGET', head, 'tag', 'before')
for _, tag in ipairs({h[1] or '', h[2] or ''}) do
  if tag ~= '' then redis.call('UNLINK', head .. ':' .. tag) end
end
redis.call('UNLINK', log, meta, head)
redis.call('XADD', log, string.format('%.0f-%.0f', tonumber(m[2]) + 1, tonumber(m[3])), 'tenure-removed', m[1])
redis.call('PEXPIRE', log, 30000)
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

Script::Script(std::string_view text) : source(text), sha(sha1_hex(text)) {}

const Scripts& Scripts::get() {
  static const Scripts* const scripts = new Scripts{.open = Script(kOpen),
                                                    .append = Script(kAppend),
                                                    .probe = Script(kProbe),
                                                    .commit = Script(kCommit),
                                                    .trim = Script(kTrim),
                                                    .remove = Script(kRemove)};
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

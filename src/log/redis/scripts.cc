#include "log/redis/scripts.h"

#include <openssl/evp.h>

#include <array>
#include <vector>

#include "base/assert.h"
#include "log/redis/command.h"

namespace tenure::redis {
namespace {

constexpr std::string_view kTools = R"(
local function bad(code, text) return redis.error_reply('TENURE-' .. code .. ' ' .. text) end
local function later(a, b)
  local a_ms, a_count = string.match(a, '(%d+)-(%d+)')
  local b_ms, b_count = string.match(b, '(%d+)-(%d+)')
  if a_ms ~= b_ms then return tonumber(a_ms) > tonumber(b_ms) end
  return tonumber(a_count) > tonumber(b_count)
end
local function link_of(e) return string.sub(e[2][2], 1, 8) end
local function write_meta(meta, id, pool, shard, shards, born)
  local more = tonumber(shards) > 1 and {'shards', shards, 'shard', shard} or {}
  if born then table.insert(more, 'born') table.insert(more, id) end
  redis.call('HSET', meta, 'format', '3', 'pool', pool, 'id', id, unpack(more))
end
local function write_head(head, id, pool, shard, shards)
  redis.call('HSET', head, 'id', id, 'pool', pool, 'shard', shard, 'shards', shards)
end
local function in_place(log, entry, link)
  if entry == '0-0' then return redis.call('EXISTS', log) == 1 end
  local e = redis.call('XRANGE', log, entry, entry)[1]
  return e and link_of(e) == link
end
local function stream_info(log)
  local list, info = redis.call('XINFO', 'STREAM', log), {}
  for i = 1, #list, 2 do info[list[i]] = list[i + 1] end
  return info
end
)";

// If meta is missing, the snapshot's hash may name a log whose stream exists. Then meta is restored from it.
constexpr std::string_view kCreate = R"(
local meta, head = KEYS[1], KEYS[2]
if redis.call('EXISTS', meta) == 1 then
  if redis.call('HGET', meta, 'format') then return 0 end
  return bad('FOREIGN', meta .. ' is no hash of Tenure')
end
local h = redis.call('HMGET', head, 'id', 'pool', 'shard', 'shards', 'position')
if h[1] and h[2] and redis.call('EXISTS', (string.gsub(head, 'snapshot$', 'log:' .. h[1]))) == 1 then
  write_meta(meta, h[1], h[2], h[3] or '0', h[4] or '1', true)
  return 0
end
if h[5] then return bad('CORRUPT', meta .. ' is gone, other keys are not') end
write_meta(meta, ARGV[2], ARGV[1], ARGV[3], ARGV[4], false)
return 1
)";

// The start of all other scripts: the log must be the one that the caller knows. While meta is missing nobody can have
// created another log, and a member's next beat restores it.
constexpr std::string_view kSameLog = R"(
local meta_id = redis.pcall('HGET', KEYS[2], 'id')
local meta_gone = not meta_id and redis.call('EXISTS', KEYS[2]) == 0 and redis.call('EXISTS', KEYS[1]) == 1
if meta_id ~= ARGV[1] and not meta_gone then
  return bad('LOST', 'the log was removed, flushed or replaced')
end
)";

// For scripts that need meta.
constexpr std::string_view kWithMeta = R"(
if meta_gone then return bad('AGAIN', KEYS[2] .. ' is gone; a member that beats writes it again') end
)";

// Adds an entry and deletes it. This leaves an empty stream whose count of added entries is one.
constexpr std::string_view kCreateStream = R"(
local log, meta, head = KEYS[1], KEYS[2], KEYS[3]
local m = redis.call('HMGET', meta, 'born', 'pool', 'shard', 'shards')
if m[1] == ARGV[1] then return 1 end
if redis.call('EXISTS', log) == 0 then
  redis.call('XADD', log, 'MAXLEN', '=', '0', '*', 'born', ARGV[1])
  return 0
end
if redis.call('HGET', head, 'id') ~= ARGV[1] then
  write_head(head, ARGV[1], m[2], m[3] or '0', m[4] or '1')
  return 0
end
redis.call('HSET', meta, 'born', ARGV[1])
return 1
)";

constexpr std::string_view kRenew = R"(
if redis.call('EXISTS', KEYS[1]) == 0 and not redis.call('HGET', KEYS[3], 'position') then
  redis.call('HSET', KEYS[2], 'id', ARGV[2])
end
return 1
)";

constexpr std::string_view kLook = R"(
local log, head = KEYS[1], KEYS[3]
local h = redis.call('HMGET', head, 'position', 'hash', 'chunks', 'tag')
if redis.call('EXISTS', log) == 0 then
  if h[1] then return bad('CORRUPT', log .. ' is gone, other keys are not') end
  return 'gone'
end
local info = stream_info(log)
local e = info['last-entry']
if e and e[2][1] ~= 'tenure' then return bad('FOREIGN', log .. ' has entries of another program') end
if later(info['max-deleted-entry-id'], h[1] or '0-0') then
  return bad('CORRUPT', 'another program has deleted entry ' .. info['max-deleted-entry-id'])
end
if h[1] and (not e or later(h[1], e[1])) then return bad('CORRUPT', log .. ' is older than the snapshot') end
if h[1] and #redis.call('XRANGE', log, h[1], h[1]) == 0 or not h[1] and info['entries-added'] ~= info['length'] + 1 then
  return 'torn'
end
return {e and e[1] or '0-0', e and link_of(e) or '', h[1], h[2], h[3], h[4]}
)";

// XINFO comes last, because it returns the first and the last entry. The caller knows an entry of the log, so it may
// restore meta.
constexpr std::string_view kProbe = R"(
local log, entry, link = KEYS[1], ARGV[2], ARGV[3]
local e = entry ~= '0-0' and redis.call('XRANGE', log, entry, entry)[1]
if e and link == '' then return {'entry', e} end
if e and link_of(e) == link then return 'ok' end
if e then return bad('LOST', 'another entry is in its place') end
if redis.call('EXISTS', log) == 0 then return bad('LOST', 'the stream is gone') end
local info = stream_info(log)
if entry == '0-0' and info['entries-added'] == info['length'] + 1 then return 'ok' end
local first, saved = info['first-entry'], redis.call('HGET', KEYS[3], 'position')
if first and saved and later(first[1], entry) then return {'trimmed', first[1]} end
return bad('LOST', 'an entry is gone')
)";

// Like XADD with NOMKSTREAM, after the proof that newcomers get this log. The snapshot's chunks are only counted:
// repairing them is up to the members, and no reason to refuse their beats.
constexpr std::string_view kBeat = R"(
local log, meta, head = KEYS[1], KEYS[2], KEYS[3]
if not (in_place(log, ARGV[4], ARGV[5]) or in_place(log, ARGV[2], ARGV[3])) then
  return bad('LOST', 'the last entries are gone, or others are in their places')
end
if meta_gone then
  write_meta(meta, ARGV[1], ARGV[8], ARGV[9], ARGV[10], true)
  return 'mended'
end
local h = redis.call('HMGET', head, 'id', 'position', 'chunks', 'tag')
if not h[1] then
  write_head(head, ARGV[1], ARGV[8], ARGV[9], ARGV[10])
  return 'mended'
end
local whole = h[1] == ARGV[1] and h[2] and redis.call('LLEN', head .. ':' .. h[4]) == tonumber(h[3])
local position = redis.call('XADD', log, 'NOMKSTREAM', ARGV[6], 'tenure', ARGV[7])
return {position, whole and h[2] or '0-0'}
)";

constexpr std::string_view kCommit = R"(
local log, head, chunks = KEYS[1], KEYS[3], KEYS[4]
local h = redis.call('HMGET', head, 'position', 'tag', 'before', 'id')
if h[1] and h[4] == ARGV[1] and later(h[1], ARGV[2]) then return ARGV[5] end
if #redis.call('XRANGE', log, ARGV[2], ARGV[2]) == 0 then return bad('LOST', 'the last entries are gone') end
if redis.call('LLEN', chunks) ~= tonumber(ARGV[4]) then return bad('AGAIN', 'chunks of the snapshot are missing') end
redis.call('HSET', head, 'position', ARGV[2], 'hash', ARGV[3], 'chunks', ARGV[4], 'tag', ARGV[5],
  'before', h[2] or '')
return h[3] or ''
)";

// A step drops a bounded number of entries, because it blocks the server. Whole nodes of the stream go first, then the
// rest in the last one.
constexpr std::string_view kTrim = R"(
local log = KEYS[1]
local stop = redis.call('HGET', KEYS[3], 'position')
if not stop then return 1 end
if later(stop, ARGV[2]) then stop = ARGV[2] end
if redis.call('XTRIM', log, 'MINID', '~', stop, 'LIMIT', 2048) > 0 then return 0 end
redis.call('XTRIM', log, 'MINID', '=', stop)
return 1
)";

// A note stays for a while: a member that is cut off now must not take the missing log for a loss when it comes back.
constexpr std::string_view kRemove = R"(
local log, meta, head, note = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local keys = {log, meta, head}
for _, tag in ipairs(redis.call('HMGET', head, 'tag', 'before')) do
  if tag and tag ~= '' then table.insert(keys, head .. ':' .. tag) end
end
redis.call('UNLINK', unpack(keys))
redis.call('UNLINK', note)
redis.call('HSET', note, 'ms', ARGV[2])
redis.call('PEXPIRE', note, ARGV[3])
return 1
)";

// A write without effect that reaches the replicas after all earlier writes.
constexpr std::string_view kMark = R"(
redis.call('HSET', KEYS[2], 'format', '3')
return 1
)";

// A script, because a reply of the server itself would have the last entry's data, too.
constexpr std::string_view kEnd = R"(
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
local last = stream_info(KEYS[1])['last-entry']
return last and last[1] or '0-0'
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
  const auto in_same_log = [](std::string_view body) {
    return Script(std::string(kTools).append(kSameLog).append(body));
  };
  const auto with_meta = [](std::string_view body) {
    return Script(std::string(kTools).append(kSameLog).append(kWithMeta).append(body));
  };
  static const Scripts* const scripts = new Scripts{.create = Script(std::string(kTools).append(kCreate)),
                                                    .create_stream = with_meta(kCreateStream),
                                                    .renew = with_meta(kRenew),
                                                    .look = with_meta(kLook),
                                                    .probe = in_same_log(kProbe),
                                                    .beat = in_same_log(kBeat),
                                                    .commit = with_meta(kCommit),
                                                    .trim = with_meta(kTrim),
                                                    .remove = in_same_log(kRemove),
                                                    .mark = with_meta(kMark),
                                                    .end = Script(std::string(kTools).append(kEnd))};
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

#pragma once

// The names of a pool's keys. All have the hash tag {POOL}, so that Redis Cluster keeps them in one slot, and one
// prefix, so that an ACL rule can name them: ~tenure:{POOL}:*
//
//   tenure:{POOL}:log:ID         the stream of entries; the random id makes it unique
//   tenure:{POOL}:meta           a hash: facts about the log
//   tenure:{POOL}:snapshot       a hash: which snapshot is the newest
//   tenure:{POOL}:snapshot:TAG   a list: the chunks of a snapshot
//   tenure:{POOL}:removed        a hash: when the pool was removed on purpose (ms); expires after an hour
//
// Each shard has its own tag, so that a cluster can store them on several servers: {POOL}, {POOL/1}, {POOL/2} and so
// on. No other pool has these tags, because a slash in a pool's name is written %2f.

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::redis {

struct Keys {
  explicit Keys(std::string_view pool, std::uint32_t shard = 0);

  std::string log(std::uint64_t id) const;
  std::string chunks(std::string_view tag) const { return head + ":" + std::string(tag); }

  std::string prefix;
  std::string meta;
  std::string head;
  std::string removed;
};

}  // namespace tenure::redis

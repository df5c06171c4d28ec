#pragma once

// Opens the pool that a command line names.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/call.h"
#include "pool/shards.h"

namespace tenure::cli {

// --engine, or TENURE_ENGINE, or a file for this pool in the user's data folder. Creates that folder.
Result<std::string> engine_url(const Call& call);
// --pool, or TENURE_POOL, or "default".
std::string pool_name(const Call& call);

// What to do if the pool does not exist. Commands that only look at a pool, or change what is in it, do not create one.
enum class Missing : std::uint8_t { refuse, create };

// The watcher of a shard.
using WatcherOf = std::function<PoolWatcher*(std::uint32_t shard)>;

// A client that keeps no state, so the time does not depend on the number of keys. If the client has to load the state
// of a shard, the watcher sees the entries of that shard's log.
Result<std::unique_ptr<Shards>> connect(const Call& call, const WatcherOf& watcher = nullptr,
                                        Missing missing = Missing::refuse);
// A node without workers for each shard. It follows the shard's log, and the watcher sees the entries.
Result<std::unique_ptr<Shards>> follow(const Call& call, const WatcherOf& watcher = nullptr,
                                       Missing missing = Missing::refuse);

// --timeout, counted from now.
Result<Deadline> deadline_of(const Call& call, std::chrono::milliseconds otherwise = std::chrono::seconds(10));

}  // namespace tenure::cli

#pragma once

// The pool that a command line names.

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/call.h"
#include "pool/shards.h"

namespace tenure::cli {

// --engine, or TENURE_ENGINE, or a file of the pool's own in the user's data folder, whose folder is made here.
Result<std::string> engine_url(const Call& call);
// --pool, or TENURE_POOL, or "default".
std::string pool_name(const Call& call);

// A client that keeps no state: constant time, however many keys the pool has.
// The listener hears what is said in a shard's log if the client has to load the state.
Result<std::unique_ptr<Shards>> connect(const Call& call,
                                        const std::function<PoolWatcher*(std::uint32_t shard)>& watcher = nullptr);
// A node without workers for each shard, that follows its log; its listener hears what is said in it.
Result<std::unique_ptr<Shards>> follow(const Call& call,
                                       const std::function<PoolWatcher*(std::uint32_t shard)>& watcher = nullptr);

// --timeout, from now on.
Result<Deadline> deadline_of(const Call& call, std::chrono::milliseconds otherwise = std::chrono::seconds(10));

}  // namespace tenure::cli

#pragma once

// The pool that a command line names.

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/call.h"
#include "pool/pool_core.h"

namespace tenure::cli {

// --engine, or TENURE_ENGINE, or a file of the pool's own in the user's data folder, whose folder is made here.
Result<std::string> engine_url(const Call& call);
// --pool, or TENURE_POOL, or "default".
std::string pool_name(const Call& call);

// A client that keeps no state: constant time, however many keys the pool has.
Result<std::unique_ptr<PoolCore>> connect(const Call& call);
// A node without workers, that follows the log; `listener` hears what is said in it.
Result<std::unique_ptr<PoolCore>> follow(const Call& call, NodeEvents* listener);

// --timeout, from now on.
Result<Deadline> deadline_of(const Call& call, std::chrono::milliseconds otherwise = std::chrono::seconds(10));

}  // namespace tenure::cli

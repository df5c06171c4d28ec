#pragma once

// What a pool refuses of a worker's options before anything is sent: everything over a bound.

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "node/keys/own_workers.h"

namespace tenure {

Status check_worker(const NodeWorker& worker);
// The keys that a worker is to serve from here on, and those that it is to serve no more.
Status check_served(const std::vector<Bytes>& add, const std::vector<Bytes>& remove);
// A worker that is to be drained, by its id.
Status check_drained(const std::string& id);

}  // namespace tenure

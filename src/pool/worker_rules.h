#pragma once

// Checks a worker's options before anything is sent: everything over a limit is refused.

#include <string>
#include <tenure/job_match.hpp>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "node/keys/own_workers.h"

namespace tenure {

Status check_worker(const NodeWorker& worker);
// What the pool, as it is now, has against a worker that it has refused.
Error refusal_of(const Machine& machine, const NodeWorker& worker, Errc why);
// Converts what a worker takes, and checks it. No match means everything.
Result<Takes> takes_of(const std::vector<JobMatch>& matches);
// Checks the keys that a worker will serve from now on, and those that it will stop serving.
Status check_served(const std::vector<Bytes>& add, const std::vector<Bytes>& remove);
// Checks the id of a worker to be drained.
Status check_drained(const std::string& id);

}  // namespace tenure

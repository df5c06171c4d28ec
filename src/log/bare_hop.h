#pragma once

// How long an entry takes from one process to another through an engine's server and nothing of ours: what a pool is
// compared with.

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tenure {

// Each from before an entry of 64 bytes is sent until a reader that waits for it has it, one after the other. None
// where the engine has no server, or one that cannot be reached this way.
Result<std::vector<Nanos>> measure_bare_hops(std::string_view url, int count);

}  // namespace tenure

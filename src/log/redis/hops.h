#pragma once

// XADD on one connection and a blocked XREAD on another, with hiredis' own blocking calls: the least that a push
// through Redis can cost.

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tenure::redis {

// Returns nothing if the URL uses TLS or sentinels.
Result<std::vector<Nanos>> measure_hops(std::string_view url, int count);

}  // namespace tenure::redis

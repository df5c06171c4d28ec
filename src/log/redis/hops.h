#pragma once

// XADD on one connection, a blocked XREAD on another, both by hiredis' own blocking calls: the least that a push
// through Redis can cost.

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tenure::redis {

// None where the URL leads through TLS or sentinels.
Result<std::vector<Nanos>> measure_hops(std::string_view url, int count);

}  // namespace tenure::redis

#pragma once

// A producer and a consumer of one partition, with librdkafka's own calls: the least that a push through Kafka can
// cost.

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tenure::kafka {

Result<std::vector<Nanos>> measure_hops(std::string_view url, int count);

}  // namespace tenure::kafka

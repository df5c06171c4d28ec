#pragma once

// Measures a producer and a consumer of one partition with bare librdkafka: the lowest possible cost of a push through
// Kafka.

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tenure::kafka {

Result<std::vector<Nanos>> measure_hops(std::string_view url, int count);

}  // namespace tenure::kafka

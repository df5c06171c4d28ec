#pragma once

// A producer and a consumer of one partition, with librdkafka's own calls: the most that records can do that go through
// Kafka, with the settings of our producers and readers.

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace tenure::source {

// Records a second, from the first that is produced to the last that is consumed. Makes a topic, and removes it.
Result<double> measure_kafka_rate(std::string_view engine_url, std::uint64_t records, std::uint64_t bytes);

}  // namespace tenure::source

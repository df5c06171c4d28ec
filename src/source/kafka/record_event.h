#pragma once

// Records of a topic as events. A position is an offset plus one. The name of an event, and its topic within the
// stream, are in headers of the record.

#include <librdkafka/rdkafka.h>

#include "source/source.h"

namespace tenure::source {

constexpr const char* kNameHeader = "tenure-name";
constexpr const char* kTopicHeader = "tenure-topic";

constexpr std::uint64_t position_of_offset(std::int64_t offset) { return static_cast<std::uint64_t>(offset) + 1; }
constexpr std::int64_t offset_of_position(std::uint64_t position) { return static_cast<std::int64_t>(position) - 1; }

Event event_of(const rd_kafka_message_t& message);

}  // namespace tenure::source

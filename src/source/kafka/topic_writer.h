#pragma once

// A Kafka topic as a stream: appending, trimming, and its settings.
//
// The partition of an event follows from its key, in the way of Kafka's own clients (murmur2), so that events of one
// key stay in order whoever writes them. Its name and its topic within the stream are headers.

#include <memory>
#include <string_view>

#include "base/result.h"
#include "source/source.h"

namespace tenure::source {

// `create` makes the topic, if there is none.
Result<std::unique_ptr<StreamWriter>> open_kafka_stream(std::string_view url, bool create);

}  // namespace tenure::source

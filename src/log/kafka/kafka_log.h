#pragma once

// The engine for Apache Kafka: a log in a topic.

#include <memory>
#include <string_view>

#include "log/open.h"

namespace tenure {

// `url` is the whole URL (kafka/settings.h).
Result<std::unique_ptr<Log>> open_kafka_log(std::string_view url, const LogOptions& options);

}  // namespace tenure

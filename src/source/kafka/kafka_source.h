#pragma once

// A Kafka topic as a source: any number of partitions, written by any producer.
//
//   KafkaSource ─┬─ Client (reader)    one instance of librdkafka fetches all partitions
//                ├─ KafkaPartition     what has been fetched of each, and whether it can be trusted
//                └─ Surveyor           a thread, and an instance of its own: looks at marks, finds what was lost
//
// No consumer group is joined. Positions are the pool's; a group that the URL names only gets to know them.

#include <memory>
#include <string_view>

#include "base/result.h"
#include "source/source.h"

namespace tenure::source {

Result<std::unique_ptr<Source>> open_kafka_source(std::string_view url);

}  // namespace tenure::source

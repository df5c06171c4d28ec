#pragma once

// A record as it came from a broker.

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <optional>

#include "log/kafka/record.h"

namespace tenure::kafka {

struct Stored {
  std::int64_t offset = 0;
  std::int64_t time_ms = 0;
  bool broker_time = false;  // the time is the broker's, as a log needs it
  std::optional<Key> key;    // nothing if the record is not ours
  Bytes value;
};

inline Stored stored_of(const rd_kafka_message_t& message) {
  Stored stored;
  stored.offset = message.offset;
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  stored.time_ms = rd_kafka_message_timestamp(&message, &type);
  stored.broker_time = type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME;
  if (message.key != nullptr) stored.key = decode_key({static_cast<const char*>(message.key), message.key_len});
  if (message.payload != nullptr) stored.value.assign(static_cast<const char*>(message.payload), message.len);
  return stored;
}

}  // namespace tenure::kafka

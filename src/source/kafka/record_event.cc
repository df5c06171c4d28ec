#include "source/kafka/record_event.h"

#include <algorithm>

namespace tenure::source {
namespace {

Bytes record_bytes(const void* data, std::size_t size) {
  return data == nullptr ? Bytes() : Bytes(static_cast<const char*>(data), size);
}

Bytes record_header(const rd_kafka_headers_t* headers, const char* name) {
  const void* value = nullptr;
  std::size_t size = 0;
  if (rd_kafka_header_get_last(headers, name, &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return record_bytes(value, size);
}

}  // namespace

Event event_of(const rd_kafka_message_t& message) {
  Event event;
  event.position = position_of_offset(message.offset);
  event.time_ms = std::max<std::int64_t>(rd_kafka_message_timestamp(&message, nullptr), 0);
  if (message.key != nullptr) event.key = record_bytes(message.key, message.key_len);
  event.payload = record_bytes(message.payload, message.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    event.name = record_header(headers, kNameHeader);
    event.topic = record_header(headers, kTopicHeader);
  }
  return event;
}

}  // namespace tenure::source

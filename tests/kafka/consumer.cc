#include "kafka/consumer.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <array>

#include "base/assert.h"

namespace tenure::conformance {
namespace {

constexpr int kConsumeMs = 20'000;

std::optional<std::string> text_of(const void* bytes, std::size_t size) {
  if (bytes == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(bytes), size);
}

ReadRecord record_of(const rd_kafka_message_t& message) {
  ReadRecord record{
      .key = text_of(message.key, message.key_len), .value = text_of(message.payload, message.len), .headers = {}};
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    record.headers.emplace_back(name, text_of(value, size).value_or(""));
  }
  return record;
}

}  // namespace

std::vector<ReadRecord> read_partition(const std::string& brokers, const std::string& topic, int partition) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 256> why{};
  for (const auto& [name, value] : std::array<std::pair<const char*, const char*>, 3>{
           {{"bootstrap.servers", brokers.c_str()}, {"group.id", "reader"}, {"enable.auto.commit", "false"}}}) {
    rd_kafka_conf_set(conf, name, value, why.data(), why.size());
  }
  rd_kafka_t* const handle = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why.data(), why.size());
  ASSERT(handle != nullptr);
  rd_kafka_poll_set_consumer(handle);
  std::int64_t first = 0;
  std::int64_t end = 0;
  const auto asked = rd_kafka_query_watermark_offsets(handle, topic.c_str(), partition, &first, &end, kConsumeMs);
  EXPECT_EQ(asked, RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_err2str(asked);
  rd_kafka_topic_partition_list_t* const from = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(from, topic.c_str(), partition)->offset = first;
  rd_kafka_assign(handle, from);
  rd_kafka_topic_partition_list_destroy(from);
  std::vector<ReadRecord> records;
  for (std::int64_t next = first; next < end;) {
    rd_kafka_message_t* const message = rd_kafka_consumer_poll(handle, kConsumeMs);
    const bool good = message != nullptr && message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (good) {
      records.push_back(record_of(*message));
      next = message->offset + 1;
    } else {
      ADD_FAILURE() << (message == nullptr ? "no answer" : rd_kafka_message_errstr(message));
      next = end;
    }
    if (message != nullptr) rd_kafka_message_destroy(message);
  }
  rd_kafka_consumer_close(handle);
  rd_kafka_destroy(handle);
  return records;
}

}  // namespace tenure::conformance

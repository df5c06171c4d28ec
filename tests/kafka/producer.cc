#include "kafka/producer.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <array>

#include "base/assert.h"

namespace tenure::conformance {
namespace {

constexpr int kProduceMs = 20'000;

rd_kafka_t* instance(rd_kafka_type_t type, const std::array<std::pair<const char*, std::string>, 2>& settings) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 256> why{};
  for (const auto& [name, value] : settings) {
    if (!value.empty()) rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size());
  }
  rd_kafka_t* const handle = rd_kafka_new(type, conf, why.data(), why.size());
  ASSERT(handle != nullptr);
  return handle;
}

void expect_done(rd_kafka_error_t* error) {
  if (error == nullptr) return;
  ADD_FAILURE() << rd_kafka_error_string(error);
  rd_kafka_error_destroy(error);
}

}  // namespace

PlainProducer::PlainProducer(const std::string& brokers, const std::string& transaction)
    : handle_(instance(RD_KAFKA_PRODUCER, {{{"bootstrap.servers", brokers}, {"transactional.id", transaction}}})) {
  if (!transaction.empty()) expect_done(rd_kafka_init_transactions(handle_, kProduceMs));
}

PlainProducer::~PlainProducer() { rd_kafka_destroy(handle_); }

void PlainProducer::produce(const std::string& topic, int partition, const PlainRecord& record) const {
  rd_kafka_headers_t* const headers = rd_kafka_headers_new(2);
  if (!record.name.empty()) rd_kafka_header_add(headers, "tenure-name", -1, record.name.data(), -1);
  if (!record.topic.empty()) rd_kafka_header_add(headers, "tenure-topic", -1, record.topic.data(), -1);
  std::string key = record.key.value_or("");
  std::string value = record.value;
  std::array<rd_kafka_vu_t, 7> parts{};
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = topic.c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  parts[1].u.i32 = partition;
  parts[2].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[2].u.mem = {value.data(), value.size()};
  parts[3].vtype = RD_KAFKA_VTYPE_KEY;
  parts[3].u.mem = {record.key ? key.data() : nullptr, key.size()};
  parts[4].vtype = RD_KAFKA_VTYPE_HEADERS;
  parts[4].u.headers = headers;
  parts[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  parts[5].u.i64 = record.time_ms;
  parts[6].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[6].u.i = RD_KAFKA_MSG_F_COPY;
  expect_done(rd_kafka_produceva(handle_, parts.data(), parts.size()));
}

// A producer that does not know the topic would wait for a second.
void PlainProducer::write(const std::string& topic, int partition, const PlainRecord& record) const {
  const rd_kafka_metadata_t* found = nullptr;
  rd_kafka_topic_t* const place = rd_kafka_topic_new(handle_, topic.c_str(), nullptr);
  if (rd_kafka_metadata(handle_, 0, place, &found, kProduceMs) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_metadata_destroy(found);
  }
  rd_kafka_topic_destroy(place);
  produce(topic, partition, record);
  EXPECT_EQ(rd_kafka_flush(handle_, kProduceMs), RD_KAFKA_RESP_ERR_NO_ERROR);
}

void PlainProducer::flood(const std::string& topic, int partition, int count, const std::string& value) const {
  rd_kafka_topic_t* const place = rd_kafka_topic_new(handle_, topic.c_str(), nullptr);
  for (int i = 0; i < count;) {
    const int failed = rd_kafka_produce(place, partition, RD_KAFKA_MSG_F_COPY, const_cast<char*>(value.data()),
                                        value.size(), nullptr, 0, nullptr);
    if (failed == 0) ++i;
    rd_kafka_poll(handle_, failed == 0 ? 0 : 10);
  }
  EXPECT_EQ(rd_kafka_flush(handle_, kProduceMs), RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_topic_destroy(place);
}

void PlainProducer::begin() const { expect_done(rd_kafka_begin_transaction(handle_)); }

void PlainProducer::commit() const { expect_done(rd_kafka_commit_transaction(handle_, kProduceMs)); }

void PlainProducer::abort() const { expect_done(rd_kafka_abort_transaction(handle_, kProduceMs)); }

std::int64_t committed_offset(const std::string& brokers, const std::string& group, const std::string& topic,
                              int partition) {
  rd_kafka_t* const handle = instance(RD_KAFKA_CONSUMER, {{{"bootstrap.servers", brokers}, {"group.id", group}}});
  rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition);
  const rd_kafka_resp_err_t code = rd_kafka_committed(handle, list, kProduceMs);
  const std::int64_t offset = code == RD_KAFKA_RESP_ERR_NO_ERROR ? list->elems[0].offset : -1;
  rd_kafka_topic_partition_list_destroy(list);
  rd_kafka_destroy(handle);
  return offset;
}

}  // namespace tenure::conformance

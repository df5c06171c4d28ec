#include "kafka/admin.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/assert.h"

namespace tenure::conformance {
namespace {

constexpr int kPatienceMs = 20'000;

rd_kafka_t* connect(const std::string& brokers, const KafkaAdmin::Settings& connection) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  std::array<char, 256> why{};
  KafkaAdmin::Settings all = connection;
  all["bootstrap.servers"] = brokers;
  all["allow.auto.create.topics"] = "false";
  for (const auto& [name, value] : all) rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size());
  rd_kafka_t* const handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
  ASSERT(handle != nullptr);
  return handle;
}

// A request of the administrator, and its answer.
class Request {
 public:
  explicit Request(rd_kafka_t* handle) : queue(rd_kafka_queue_new(handle)) {}
  ~Request() {
    if (event_ != nullptr) rd_kafka_event_destroy(event_);
    rd_kafka_queue_destroy(queue);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  rd_kafka_event_t* answer() {
    event_ = rd_kafka_queue_poll(queue, kPatienceMs);
    EXPECT_NE(event_, nullptr) << "the broker does not answer";
    if (event_ == nullptr) return nullptr;
    EXPECT_EQ(rd_kafka_event_error(event_), 0) << rd_kafka_event_error_string(event_);
    return event_;
  }

  rd_kafka_queue_t* const queue;

 private:
  rd_kafka_event_t* event_ = nullptr;
};

// What is gone is gone: brokers list a topic for a moment longer.
void expect_good(const rd_kafka_topic_result_t* const* results, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (rd_kafka_topic_result_error(results[i]) == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) continue;
    EXPECT_EQ(rd_kafka_topic_result_error(results[i]), 0)
        << rd_kafka_topic_result_name(results[i]) << ": " << rd_kafka_err2str(rd_kafka_topic_result_error(results[i]));
  }
}

}  // namespace

KafkaAdmin::KafkaAdmin(const std::string& brokers, const Settings& connection)
    : handle_(connect(brokers, connection)) {}

KafkaAdmin::~KafkaAdmin() { rd_kafka_destroy(handle_); }

std::vector<std::string> KafkaAdmin::topics(const std::string& prefix) const {
  const struct rd_kafka_metadata* found = nullptr;
  std::vector<std::string> names;
  EXPECT_EQ(rd_kafka_metadata(handle_, 1, nullptr, &found, kPatienceMs), 0);
  if (found == nullptr) return names;
  for (int i = 0; i < found->topic_cnt; ++i) {
    const std::string name = found->topics[i].topic;
    if (name.starts_with(prefix)) names.push_back(name);
  }
  rd_kafka_metadata_destroy(found);
  return names;
}

namespace {

// What `look` makes of the topic's first partition, or less than zero.
int of_first_partition(rd_kafka_t* handle, const std::string& topic,
                       int (*look)(const rd_kafka_metadata_partition_t& partition)) {
  const struct rd_kafka_metadata* found = nullptr;
  rd_kafka_topic_t* const asked = rd_kafka_topic_new(handle, topic.c_str(), nullptr);
  EXPECT_EQ(rd_kafka_metadata(handle, 0, asked, &found, kPatienceMs), 0);
  rd_kafka_topic_destroy(asked);
  if (found == nullptr) return -1;
  const bool there = found->topic_cnt > 0 && found->topics[0].partition_cnt > 0;
  const int result = there ? look(found->topics[0].partitions[0]) : -1;
  rd_kafka_metadata_destroy(found);
  return result;
}

}  // namespace

int KafkaAdmin::leader(const std::string& topic) const {
  return of_first_partition(handle_, topic, [](const auto& partition) { return int{partition.leader}; });
}

int KafkaAdmin::in_sync(const std::string& topic) const {
  return of_first_partition(handle_, topic, [](const auto& partition) { return partition.isr_cnt; });
}

void KafkaAdmin::make_topic(const std::string& name, int partitions, const Settings& settings) const {
  std::array<char, 256> why{};
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), partitions, 1, why.data(), why.size());
  for (const auto& [key, value] : settings) rd_kafka_NewTopic_set_config(topic, key.c_str(), value.c_str());
  Request request(handle_);
  rd_kafka_CreateTopics(handle_, &topic, 1, nullptr, request.queue);
  std::size_t count = 0;
  if (rd_kafka_event_t* const answer = request.answer()) {
    const auto* const results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(answer), &count);
    expect_good(results, count);
  }
  rd_kafka_NewTopic_destroy(topic);
  wait_until_listed(name, true);
}

// The controller has made or deleted it; the broker learns of it a moment later.
void KafkaAdmin::wait_until_listed(const std::string& name, bool listed) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  for (;;) {
    const auto found = topics(name);
    if ((std::find(found.begin(), found.end(), name) != found.end()) == listed) return;
    ASSERT(std::chrono::steady_clock::now() < deadline);
  }
}

namespace {

rd_kafka_AclOperation_t operation_of(KafkaAdmin::Right right) {
  switch (right) {
    case KafkaAdmin::Right::read: return RD_KAFKA_ACL_OPERATION_READ;
    case KafkaAdmin::Right::write: return RD_KAFKA_ACL_OPERATION_WRITE;
    case KafkaAdmin::Right::describe: return RD_KAFKA_ACL_OPERATION_DESCRIBE;
    case KafkaAdmin::Right::create: return RD_KAFKA_ACL_OPERATION_CREATE;
    case KafkaAdmin::Right::drop: return RD_KAFKA_ACL_OPERATION_DELETE;
    case KafkaAdmin::Right::read_settings: return RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS;
  }
  return RD_KAFKA_ACL_OPERATION_UNKNOWN;
}

void make_rule(rd_kafka_t* handle, const std::string& user, KafkaAdmin::Right right, const std::string& prefix,
               rd_kafka_AclPermissionType_t permission) {
  std::array<char, 256> why{};
  rd_kafka_AclBinding_t* rule =
      rd_kafka_AclBinding_new(RD_KAFKA_RESOURCE_TOPIC, prefix.c_str(), RD_KAFKA_RESOURCE_PATTERN_PREFIXED,
                              ("User:" + user).c_str(), "*", operation_of(right), permission, why.data(), why.size());
  ASSERT(rule != nullptr);
  Request request(handle);
  rd_kafka_CreateAcls(handle, &rule, 1, nullptr, request.queue);
  if (rd_kafka_event_t* const answer = request.answer()) {
    std::size_t count = 0;
    const auto* const results = rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(answer), &count);
    for (std::size_t i = 0; i < count; ++i) {
      const rd_kafka_error_t* const error = rd_kafka_acl_result_error(results[i]);
      EXPECT_EQ(error, nullptr) << rd_kafka_error_string(error);
    }
  }
  rd_kafka_AclBinding_destroy(rule);
}

}  // namespace

void KafkaAdmin::allow(const std::string& user, Right right, const std::string& prefix) const {
  make_rule(handle_, user, right, prefix, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW);
}

void KafkaAdmin::deny(const std::string& user, Right right, const std::string& prefix) const {
  make_rule(handle_, user, right, prefix, RD_KAFKA_ACL_PERMISSION_TYPE_DENY);
}

void KafkaAdmin::delete_topics(const std::vector<std::string>& names) const {
  if (names.empty()) return;
  std::vector<rd_kafka_DeleteTopic_t*> topics;
  topics.reserve(names.size());
  for (const std::string& name : names) topics.push_back(rd_kafka_DeleteTopic_new(name.c_str()));
  Request request(handle_);
  rd_kafka_DeleteTopics(handle_, topics.data(), topics.size(), nullptr, request.queue);
  std::size_t count = 0;
  if (rd_kafka_event_t* const answer = request.answer()) {
    const auto* const results = rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(answer), &count);
    expect_good(results, count);
  }
  rd_kafka_DeleteTopic_destroy_array(topics.data(), topics.size());
  for (const std::string& name : names) wait_until_listed(name, false);
}

void KafkaAdmin::add_partitions(const std::string& name, int partitions) const {
  std::array<char, 256> why{};
  rd_kafka_NewPartitions_t* more =
      rd_kafka_NewPartitions_new(name.c_str(), static_cast<std::size_t>(partitions), why.data(), why.size());
  Request request(handle_);
  rd_kafka_CreatePartitions(handle_, &more, 1, nullptr, request.queue);
  std::size_t count = 0;
  if (rd_kafka_event_t* const answer = request.answer()) {
    const auto* const results =
        rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(answer), &count);
    expect_good(results, count);
  }
  rd_kafka_NewPartitions_destroy(more);
}

void KafkaAdmin::alter_topic(const std::string& name, const Settings& settings) const {
  rd_kafka_ConfigResource_t* resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name.c_str());
  for (const auto& [key, value] : settings) rd_kafka_ConfigResource_set_config(resource, key.c_str(), value.c_str());
  Request request(handle_);
  rd_kafka_AlterConfigs(handle_, &resource, 1, nullptr, request.queue);
  std::size_t count = 0;
  if (rd_kafka_event_t* const answer = request.answer()) {
    const auto* const results =
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(answer), &count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(rd_kafka_ConfigResource_error(results[i]), 0);
  }
  rd_kafka_ConfigResource_destroy(resource);
}

void KafkaAdmin::drop_before(const std::string& topic, int partition, std::int64_t offset) const {
  rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = offset;
  rd_kafka_DeleteRecords_t* records = rd_kafka_DeleteRecords_new(list);
  Request request(handle_);
  rd_kafka_DeleteRecords(handle_, &records, 1, nullptr, request.queue);
  if (rd_kafka_event_t* const answer = request.answer()) {
    const auto* const done = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(answer));
    EXPECT_EQ(done->cnt > 0 ? done->elems[0].err : 0, 0);
  }
  rd_kafka_DeleteRecords_destroy(records);
  rd_kafka_topic_partition_list_destroy(list);
}

std::int64_t KafkaAdmin::records(const std::string& topic, int partition) const {
  std::int64_t first = 0;
  std::int64_t end = 0;
  EXPECT_EQ(rd_kafka_query_watermark_offsets(handle_, topic.c_str(), partition, &first, &end, kPatienceMs), 0);
  return end - first;
}

void KafkaAdmin::write(const std::string& topic, int partition, const std::string& key,
                       const std::string& value) const {
  rd_kafka_topic_t* const place = rd_kafka_topic_new(handle_, topic.c_str(), nullptr);
  EXPECT_EQ(rd_kafka_produce(place, partition, RD_KAFKA_MSG_F_COPY, const_cast<char*>(value.data()), value.size(),
                             key.data(), key.size(), nullptr),
            0);
  EXPECT_EQ(rd_kafka_flush(handle_, kPatienceMs), 0);
  rd_kafka_topic_destroy(place);
}

KafkaAdmin::Settings log_settings() {
  return {{"cleanup.policy", "delete"},
          {"retention.ms", "-1"},
          {"retention.bytes", "-1"},
          {"message.timestamp.type", "LogAppendTime"}};
}

}  // namespace tenure::conformance

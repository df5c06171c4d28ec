#include "log/kafka/admin.h"

#include <algorithm>
#include <array>
#include <utility>

#include "log/kafka/errors.h"

namespace tenure::kafka {
namespace {

rd_kafka_NewTopic_t* new_topic(const TopicPlan& plan, int replication) {
  std::array<char, 256> why{};
  rd_kafka_NewTopic_t* const topic =
      rd_kafka_NewTopic_new(plan.name.c_str(), plan.partitions, replication, why.data(), why.size());
  TopicSettings settings = {{"cleanup.policy", "delete"},
                            {"retention.ms", "-1"},
                            {"retention.bytes", "-1"},
                            {"message.timestamp.type", "LogAppendTime"},
                            {"min.insync.replicas", replication >= 3 ? "2" : "1"},
                            {"unclean.leader.election.enable", "false"}};
  for (const auto& [key, value] : plan.settings) settings[key] = value;
  for (const auto& [key, value] : settings) rd_kafka_NewTopic_set_config(topic, key.c_str(), value.c_str());
  return topic;
}

}  // namespace

Status Admin::request(rd_kafka_admin_op_t what, const std::string& operation, const Ask& ask, const Take& take,
                      bool only_tries) {
  std::array<char, 256> why{};
  const int timeout_ms = static_cast<int>(settings_.timeout_ms);
  rd_kafka_AdminOptions_t* const options = rd_kafka_AdminOptions_new(client_.get(), what);
  rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, why.data(), why.size());
  if (what == RD_KAFKA_ADMIN_OP_CREATETOPICS || what == RD_KAFKA_ADMIN_OP_DELETETOPICS ||
      what == RD_KAFKA_ADMIN_OP_DELETERECORDS) {
    rd_kafka_AdminOptions_set_operation_timeout(options, timeout_ms, why.data(), why.size());
  }
  if (only_tries) rd_kafka_AdminOptions_set_validate_only(options, 1, why.data(), why.size());
  rd_kafka_queue_t* const queue = rd_kafka_queue_new(client_.get());
  ask(options, queue);
  Status status;
  {
    const Event event(rd_kafka_queue_poll(queue, timeout_ms + 1000));
    if (!event) {
      status = Failure(client_.explain(RD_KAFKA_RESP_ERR__TIMED_OUT, operation));
    } else if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      status = Failure(client_.explain(rd_kafka_event_error(event.get()), operation));
    } else {
      status = take(*event);
    }
  }
  rd_kafka_queue_destroy(queue);
  rd_kafka_AdminOptions_destroy(options);
  return status;
}

Result<int> Admin::replication() {
  constexpr int kReplication = 3;
  if (settings_.replication != 0) return static_cast<int>(settings_.replication);
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client_.get(), 0, nullptr, &found, static_cast<int>(settings_.timeout_ms));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Failure(client_.explain(code, "open"));
  const int count = found->broker_cnt;
  rd_kafka_metadata_destroy(found);
  return std::clamp(count, 1, kReplication);
}

Status Admin::create_topics(const std::vector<TopicPlan>& plans) { return create(plans, false); }

Status Admin::may_create(const std::string& topic) { return create({{.name = topic}}, true); }

Status Admin::create(const std::vector<TopicPlan>& plans, bool only_tries) {
  const Result<int> copies = replication();
  if (!copies) return Failure(copies.error());
  std::vector<rd_kafka_NewTopic_t*> topics;
  topics.reserve(plans.size());
  for (const TopicPlan& plan : plans) topics.push_back(new_topic(plan, *copies));
  const Status created = request(
      RD_KAFKA_ADMIN_OP_CREATETOPICS, "open",
      [&](const rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_CreateTopics(client_.get(), topics.data(), topics.size(), options, queue);
      },
      [&](rd_kafka_event_t& event) -> Status {
        std::size_t count = 0;
        const auto* const results =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(&event), &count);
        for (std::size_t i = 0; i < count; ++i) {
          const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
          if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) continue;
          const char* const text = rd_kafka_topic_result_error_string(results[i]);
          return Failure(error_of(code, "open", settings_.shown, text == nullptr ? "" : text));
        }
        return {};
      },
      only_tries);
  rd_kafka_NewTopic_destroy_array(topics.data(), topics.size());
  return created;
}

Status Admin::remove_topics(const std::vector<std::string>& names) {
  std::vector<rd_kafka_DeleteTopic_t*> topics;
  topics.reserve(names.size());
  for (const std::string& name : names) topics.push_back(rd_kafka_DeleteTopic_new(name.c_str()));
  const Status removed = request(
      RD_KAFKA_ADMIN_OP_DELETETOPICS, "remove",
      [&](const rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_DeleteTopics(client_.get(), topics.data(), topics.size(), options, queue);
      },
      [&](rd_kafka_event_t& event) -> Status {
        std::size_t count = 0;
        const auto* const results =
            rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(&event), &count);
        for (std::size_t i = 0; i < count; ++i) {
          const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
          if (code == RD_KAFKA_RESP_ERR_NO_ERROR || names_no_topic(code)) continue;
          return Failure(error_of(code, "remove", settings_.shown));
        }
        return {};
      });
  rd_kafka_DeleteTopic_destroy_array(topics.data(), topics.size());
  return removed;
}

Status Admin::drop_before(const std::string& topic, std::int32_t partition, std::int64_t offset) {
  rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = offset;
  rd_kafka_DeleteRecords_t* records = rd_kafka_DeleteRecords_new(list);
  const Status dropped = request(
      RD_KAFKA_ADMIN_OP_DELETERECORDS, "trim",
      [&](const rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_DeleteRecords(client_.get(), &records, 1, options, queue);
      },
      [&](rd_kafka_event_t& event) -> Status {
        const auto* const result = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(&event));
        const rd_kafka_resp_err_t code = result->cnt > 0 ? result->elems[0].err : RD_KAFKA_RESP_ERR_NO_ERROR;
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
        return Failure(error_of(code, "trim", settings_.shown));
      });
  rd_kafka_DeleteRecords_destroy(records);
  rd_kafka_topic_partition_list_destroy(list);
  return dropped;
}

// Drops what is before the first record.
Status Admin::may_drop(const std::string& topic) {
  std::int64_t first = 0;
  std::int64_t end = 0;
  const auto code = rd_kafka_query_watermark_offsets(client_.get(), topic.c_str(), 0, &first, &end,
                                                     static_cast<int>(settings_.timeout_ms));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Failure(error_of(code, "trim", settings_.shown));
  return drop_before(topic, 0, first);
}

Result<std::optional<TopicSettings>> Admin::describe(rd_kafka_ResourceType_t type, const std::string& name) {
  rd_kafka_ConfigResource_t* asked = rd_kafka_ConfigResource_new(type, name.c_str());
  std::optional<TopicSettings> found = TopicSettings();
  const Status answered = request(
      RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, "open",
      [&](const rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
        rd_kafka_DescribeConfigs(client_.get(), &asked, 1, options, queue);
      },
      [&](rd_kafka_event_t& event) -> Status {
        std::size_t count = 0;
        const auto* const resources =
            rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(&event), &count);
        const auto code = count == 0 ? RD_KAFKA_RESP_ERR__NOENT : rd_kafka_ConfigResource_error(resources[0]);
        if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
            code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED) {
          found.reset();
          return {};
        }
        // The broker that was asked has not heard of the topic yet, or the topic is gone.
        if (names_no_topic(code)) {
          return fail(Errc::lost_history, "kafka open", settings_.shown + ": a broker does not know " + name);
        }
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Failure(error_of(code, "open", settings_.shown));
        std::size_t entries = 0;
        const auto* const configs = rd_kafka_ConfigResource_configs(resources[0], &entries);
        for (std::size_t i = 0; i < entries; ++i) {
          const char* const value = rd_kafka_ConfigEntry_value(configs[i]);
          if (value != nullptr) (*found)[rd_kafka_ConfigEntry_name(configs[i])] = value;
        }
        return {};
      });
  rd_kafka_ConfigResource_destroy(asked);
  if (!answered) return Failure(answered.error());
  return found;
}

Result<std::optional<TopicSettings>> Admin::settings_of(const std::string& topic) {
  return describe(RD_KAFKA_RESOURCE_TOPIC, topic);
}

Result<std::optional<TopicSettings>> Admin::settings_of_broker(std::int32_t broker) {
  return describe(RD_KAFKA_RESOURCE_BROKER, std::to_string(broker));
}

std::string alter_command(const std::string& brokers, const std::string& topic, const std::string& change) {
  return "kafka-configs.sh --bootstrap-server " + brokers + " --alter --entity-type topics --entity-name " + topic +
         " --add-config " + change;
}

}  // namespace tenure::kafka

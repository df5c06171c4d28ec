#pragma once

// The administrator's requests, for any topic.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "log/kafka/client.h"

namespace tenure::kafka {

// The settings of a topic, or of a broker, by name.
using TopicSettings = std::map<std::string, std::string>;

// A topic that is to be. It keeps everything until somebody deletes it, unless the settings say otherwise.
struct TopicPlan {
  std::string name;
  int partitions = 1;
  TopicSettings settings{};
};

// Each request blocks its caller until the deadline of the settings at most.
class Admin {
 public:
  Admin(const KafkaSettings& settings, Client& client) : settings_(settings), client_(client) {}

  // As far as they do not exist. Brokers may know them a moment later.
  Status create_topics(const std::vector<TopicPlan>& plans);
  // As far as they exist.
  Status remove_topics(const std::vector<std::string>& names);
  // Drops the records of a partition before this offset.
  Status drop_before(const std::string& topic, std::int32_t partition, std::int64_t offset);
  // Both change nothing. Errc::refused if the user lacks the right to drop records, or to create the topic.
  Status may_drop(const std::string& topic);
  Status may_create(const std::string& topic);
  // Nothing if the user may not ask.
  Result<std::optional<TopicSettings>> settings_of(const std::string& topic);
  Result<std::optional<TopicSettings>> settings_of_broker(std::int32_t broker);

 private:
  using Ask = std::function<void(const rd_kafka_AdminOptions_t*, rd_kafka_queue_t*)>;
  using Take = std::function<Status(rd_kafka_event_t&)>;
  Status request(rd_kafka_admin_op_t what, const std::string& operation, const Ask& ask, const Take& take,
                 bool only_tries = false);
  Status create(const std::vector<TopicPlan>& plans, bool only_tries);
  Result<std::optional<TopicSettings>> describe(rd_kafka_ResourceType_t type, const std::string& name);
  Result<int> replication();

  const KafkaSettings& settings_;
  Client& client_;
};

// The command with which a person changes a setting of a topic.
std::string alter_command(const std::string& brokers, const std::string& topic, const std::string& change);

}  // namespace tenure::kafka

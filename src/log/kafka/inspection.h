#pragma once

// Examines a Kafka cluster and the topics of a log: how many copies there are, what a failover may lose, and how long a
// broker that was killed is out of service.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "log/finding.h"
#include "log/kafka/topics.h"
#include "log/open.h"

namespace tenure::kafka {

// Empty if the cluster cannot be reached or refuses the login. Opening the log reports why.
std::vector<Finding> inspect(std::string_view url, const LogOptions& options);

// The cluster's own facts, as far as the user may query them.
struct ClusterFacts {
  int brokers = 0;
  std::string topic;
  int replicas = 0;  // of the log; zero if there is no topic
  int in_sync = 0;
  std::optional<TopicSettings> settings;  // of the topic
  std::optional<TopicSettings> broker;
  // Whether the user may do what a pool does now and then. False only if a broker has refused it.
  bool may_drop = true;
  bool may_create = true;
};

std::vector<Finding> judge_facts(const ClusterFacts& facts, const std::string& brokers);

}  // namespace tenure::kafka

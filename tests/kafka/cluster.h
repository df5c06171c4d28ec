#pragma once

// Three brokers, for tests of what happens when one of them goes. Each is a controller, too.

#include <array>
#include <memory>
#include <string>

#include "kafka/server.h"

namespace tenure::conformance {

class KafkaCluster {
 public:
  static constexpr std::size_t kBrokers = 3;

  KafkaCluster();

  std::string url() const;
  std::string brokers() const;
  KafkaServer& broker(std::size_t index) { return *servers_[index]; }
  // The broker that leads the first partition of the topic.
  KafkaServer& leader_of(const std::string& topic) const;

 private:
  std::array<std::unique_ptr<KafkaServer>, kBrokers> servers_;
};

}  // namespace tenure::conformance

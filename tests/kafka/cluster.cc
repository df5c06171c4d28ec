#include "kafka/cluster.h"

#include "base/assert.h"
#include "kafka/admin.h"
#include "log_conformance/free_port.h"

namespace tenure::conformance {

KafkaCluster::KafkaCluster() {
  std::array<std::uint16_t, kBrokers> ports{};
  std::string voters;
  for (std::size_t i = 0; i < kBrokers; ++i) {
    ports[i] = free_port();
    voters += (i == 0 ? "" : ",") + std::to_string(i + 1) + "@127.0.0.1:" + std::to_string(ports[i]);
  }
  for (std::size_t i = 0; i < kBrokers; ++i) {
    const KafkaServer::Seat seat{static_cast<int>(i + 1), ports[i], voters};
    servers_[i] = std::make_unique<KafkaServer>(seat, std::vector<std::string>{"default.replication.factor=3"});
  }
  for (const auto& server : servers_) ASSERT(server->wait_until_ready());
}

std::string KafkaCluster::brokers() const {
  std::string all;
  for (const auto& server : servers_) all += (all.empty() ? "" : ",") + server->brokers();
  return all;
}

std::string KafkaCluster::url() const { return "kafka://" + brokers(); }

KafkaServer& KafkaCluster::leader_of(const std::string& topic) const {
  const int leader = KafkaAdmin(brokers()).leader(topic);
  ASSERT(leader >= 1 && leader <= static_cast<int>(kBrokers));
  return *servers_[static_cast<std::size_t>(leader) - 1];
}

}  // namespace tenure::conformance

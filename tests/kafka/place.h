#pragma once

// Shared by the tests of the Kafka engine: a part of the shared broker, its topics, and an administrator.

#include <string>

#include "kafka/admin.h"
#include "kafka/shared_broker.h"
#include "log_conformance/insist.h"
#include "log_conformance/member.h"

namespace tenure::conformance {

class KafkaTest : public testing::Test {
 protected:
  std::string url() const { return space_.url(); }
  const std::string& prefix() const { return space_.prefix(); }
  std::string log_topic() const { return space_.prefix() + ".default.0"; }
  std::string snapshots_topic() const { return log_topic() + ".snapshots"; }
  const KafkaAdmin& admin() const { return admin_; }
  std::unique_ptr<Log> open() const { return open_at(url()); }

 private:
  const TopicSpace space_{shared_broker()};
  const KafkaAdmin admin_{space_.brokers()};
};

}  // namespace tenure::conformance

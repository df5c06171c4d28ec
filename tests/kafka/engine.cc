// The engine for Kafka, for the suite.

#include "log_conformance/engine.h"
#include "kafka/shared_broker.h"

namespace tenure::conformance {
namespace {

class KafkaPlace final : public Place {
 public:
  std::string url() const override { return space_.url(); }
  std::vector<std::string> leftovers() const override { return space_.topics(); }

 private:
  const TopicSpace space_{shared_broker()};
};

const RegisteredEngine kKafka(
    {.name = "kafka", .across_processes = true, .many_pools = true, .make_place = make<KafkaPlace>});

}  // namespace
}  // namespace tenure::conformance

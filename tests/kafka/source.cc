// Kafka topics, for the suite of all kinds of sources.

#include "base/bytes.h"
#include "kafka/admin.h"
#include "kafka/shared_broker.h"
#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

class KafkaStreamPlace final : public StreamPlace {
 public:
  // Not every name can be that of a topic.
  std::string url(const std::string& stream) override { return "kafka://" + space_.brokers() + "/" + name_of(stream); }
  std::string engine() override { return "kafka://" + space_.brokers(); }
  std::string name_of(const std::string& stream) override {
    return space_.prefix() + ".stream-" + to_hex(hash_bytes(stream));
  }
  void make_partitions(const std::string& stream, std::uint32_t count) override {
    KafkaAdmin(space_.brokers()).make_topic(name_of(stream), static_cast<int>(count), {});
  }

 private:
  const TopicSpace space_{shared_broker()};
};

const RegisteredSource kKafkaSource({.name = "kafka",
                                     .across_processes = true,
                                     .dense = true,
                                     .partitions = true,
                                     .fetches = true,
                                     .make_place = make_stream_place<KafkaStreamPlace>});

}  // namespace
}  // namespace tenure::conformance

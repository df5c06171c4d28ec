#include "log/kafka/inspection.h"

namespace tenure::kafka {
namespace {

// The brokers, and the copies of the log.
bool take_metadata(Client& client, int timeout_ms, ClusterFacts& facts) {
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client.get(), 0, client.topic(facts.topic), &found, timeout_ms);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  facts.brokers = found->broker_cnt;
  for (int i = 0; i < found->topic_cnt; ++i) {
    if (found->topics[i].partition_cnt == 0) continue;
    facts.replicas = found->topics[i].partitions[0].replica_cnt;
    facts.in_sync = found->topics[i].partitions[0].isr_cnt;
  }
  rd_kafka_metadata_destroy(found);
  return true;
}

// Of any broker: brokers of a cluster are set up alike.
std::optional<TopicSettings> broker_settings(Client& client, Topics& topics, int timeout_ms) {
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client.get(), 0, nullptr, &found, timeout_ms);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  const std::int32_t id = found->broker_cnt > 0 ? found->brokers[0].id : -1;
  rd_kafka_metadata_destroy(found);
  const auto settings = topics.settings_of_broker(id);
  return settings ? *settings : std::nullopt;
}

}  // namespace

std::vector<Finding> inspect(std::string_view url, const LogOptions& options) {
  const auto settings = parse_settings(url);
  if (!settings) return {};
  const auto client = Client::make(*settings, Role::prober, nullptr);
  if (!client) return {};
  const int timeout_ms = static_cast<int>(settings->timeout_ms);
  ClusterFacts facts;
  facts.topic = TopicNames(settings->prefix, options.pool, options.shard.index).log;
  if (!take_metadata(**client, timeout_ms, facts)) return {};
  Topics topics(*settings, **client);
  if (facts.replicas != 0) {
    if (const auto found = topics.settings_of(facts.topic)) facts.settings = *found;
    facts.broker = broker_settings(**client, topics, timeout_ms);
    const auto refused = [](const Status& tried) { return !tried && tried.error().code == Errc::refused; };
    facts.may_drop = !refused(topics.may_drop(facts.topic));
    facts.may_create = !refused(topics.may_create(facts.topic));
  }
  return judge_facts(facts, settings->brokers);
}

}  // namespace tenure::kafka

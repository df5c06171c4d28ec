#pragma once

// The two topics of a log, by name and by setting.
//
//   PREFIX.POOL.SHARD              one partition: the log
//   PREFIX.POOL.SHARD.snapshots    two partitions: chunks, and what makes snapshots of them
//
// The prefix is `tenure`, unless the URL says otherwise. Letters, digits and - of a pool's name stay, other bytes
// become _XX (two hexadecimal digits). A name that gets too long is cut, and ends in a hash.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "log/kafka/client.h"

namespace tenure::kafka {

struct TopicNames {
  TopicNames(const std::string& prefix, std::string_view pool, std::uint32_t shard);

  std::string log;
  std::string snapshots;
};

constexpr int kLogPartitions = 1;
constexpr int kSnapshotPartitions = 2;
constexpr std::int32_t kChunks = 0;
constexpr std::int32_t kManifests = 1;

// The settings of a topic, or of a broker, by name.
using TopicSettings = std::map<std::string, std::string>;

// A setting that a log cannot live with, and the command that changes it.
struct TopicFault {
  std::string what;
  std::string command;
};

// Pure. `log` distinguishes the topic of the entries, whose times must be the broker's.
std::vector<TopicFault> faults_of(const std::string& topic, bool log, int partitions, const TopicSettings& settings,
                                  const std::string& brokers);

// The administrator's requests. Each blocks its caller until the deadline of the settings at most.
class Topics {
 public:
  Topics(const KafkaSettings& settings, Client& client) : settings_(settings), client_(client) {}

  // Creates both topics, as far as they do not exist.
  Status create(const TopicNames& names);
  // Creates that of the snapshots alone.
  Status create_snapshots(const TopicNames& names);
  // Errc::refused, with the command that helps, if a topic has a setting that a log cannot live with.
  Status check(const std::string& topic, bool log, int partitions);
  Status remove(const TopicNames& names);
  // Drops the records of a partition before this offset.
  Status drop_before(const std::string& topic, std::int32_t partition, std::int64_t offset);
  // Nothing if the user may not ask.
  Result<std::optional<TopicSettings>> settings_of(const std::string& topic);
  Result<std::optional<TopicSettings>> settings_of_broker(std::int32_t broker);

 private:
  using Ask = std::function<void(const rd_kafka_AdminOptions_t*, rd_kafka_queue_t*)>;
  using Take = std::function<Status(rd_kafka_event_t&)>;
  Status request(rd_kafka_admin_op_t what, const std::string& operation, const Ask& ask, const Take& take);
  Result<std::optional<TopicSettings>> describe(rd_kafka_ResourceType_t type, const std::string& name);
  Result<int> replication();
  Status create_all(const std::map<std::string, int>& partitions);

  const KafkaSettings& settings_;
  Client& client_;
};

}  // namespace tenure::kafka

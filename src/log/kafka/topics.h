#pragma once

// The two topics of a log, by name and by setting.
//
//   PREFIX.POOL.SHARD              one partition: the log
//   PREFIX.POOL.SHARD.snapshots    two partitions: chunks, and what makes snapshots of them
//
// The prefix is `tenure`, unless the URL says otherwise. Letters, digits and - of a pool's name stay, other bytes
// become _XX (two hexadecimal digits). A name that gets too long is cut, and ends in a hash.
//
// With an empty prefix (`topics=own`) the topic has the pool's own name, POOL or for further shards POOL.SHARD. Then .
// and _ stay, too.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "log/kafka/admin.h"

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

// A setting that a log cannot live with, and the command that changes it.
struct TopicFault {
  std::string what;
  std::string command;
};

// Pure. `log` distinguishes the topic of the entries, whose times must be the broker's.
std::vector<TopicFault> faults_of(const std::string& topic, bool log, int partitions, const TopicSettings& settings,
                                  const std::string& brokers);

// The administrator's requests, for the topics of a log.
class Topics : public Admin {
 public:
  Topics(const KafkaSettings& settings, Client& client)
      : Admin(settings, client), brokers_(settings.brokers), shown_(settings.shown) {}

  // Creates both topics, as far as they do not exist.
  Status create(const TopicNames& names);
  // Creates that of the snapshots alone.
  Status create_snapshots(const TopicNames& names);
  // Errc::refused, with the command that helps, if a topic has a setting that a log cannot live with.
  Status check(const std::string& topic, bool log, int partitions);
  Status remove(const TopicNames& names);

 private:
  const std::string brokers_;
  const std::string shown_;
};

}  // namespace tenure::kafka

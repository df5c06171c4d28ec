#include "log/kafka/topics.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/bytes.h"
#include "base/escaped_name.h"
#include "log/kafka/record.h"

namespace tenure::kafka {
namespace {

// Kafka takes 249 bytes.
constexpr std::size_t kPoolBytesMax = 180;
// A piece and its key fit; it is also Kafka's own default.
constexpr std::int64_t kMessageBytes = 1'048'588;
constexpr std::int64_t kMessageBytesMin = kPieceBytes + 1024;
// Dropped records free their disk by segments.
constexpr const char* kSegmentBytes = "67108864";

std::string topic_part(std::string_view pool, std::string_view kept) {
  std::string part = escaped_name(pool, kept, '_');
  if (part.size() > kPoolBytesMax) part = part.substr(0, kPoolBytesMax - 17) + "-" + to_hex(hash_bytes(pool));
  return part;
}

std::int64_t number(const TopicSettings& settings, const std::string& name) {
  const auto found = settings.find(name);
  std::int64_t value = 0;
  if (found == settings.end()) return value;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

TopicPlan plan_of(const std::string& name, int partitions) {
  return {.name = name,
          .partitions = partitions,
          .settings = {{"max.message.bytes", std::to_string(kMessageBytes)}, {"segment.bytes", kSegmentBytes}}};
}

std::string log_topic(const std::string& prefix, std::string_view pool, std::uint32_t shard) {
  if (!prefix.empty()) return prefix + "." + topic_part(pool, "-") + "." + std::to_string(shard);
  return topic_part(pool, "-._") + (shard == 0 ? "" : "." + std::to_string(shard));
}

}  // namespace

TopicNames::TopicNames(const std::string& prefix, std::string_view pool, std::uint32_t shard)
    : log(log_topic(prefix, pool, shard)), snapshots(log + ".snapshots") {}

std::vector<TopicFault> faults_of(const std::string& topic, bool log, int partitions, const TopicSettings& settings,
                                  const std::string& brokers) {
  std::vector<TopicFault> faults;
  const auto alter = [&](const std::string& name, const std::string& value) {
    return alter_command(brokers, topic, name + "=" + value);
  };
  const int wanted = log ? kLogPartitions : kSnapshotPartitions;
  if (partitions != wanted) {
    faults.push_back({topic + " has " + std::to_string(partitions) + " partitions, not " + std::to_string(wanted),
                      "kafka-topics.sh --bootstrap-server " + brokers + " --delete --topic " + topic});
  }
  const auto demand = [&](const std::string& name, const std::string& value, const std::string& why) {
    const auto found = settings.find(name);
    if (found == settings.end() || found->second == value) return;
    faults.push_back({topic + " has " + name + "=" + found->second + ": " + why, alter(name, value)});
  };
  demand("cleanup.policy", "delete", "compaction removes entries of a log");
  demand("retention.ms", "-1", "entries would be lost with time");
  demand("retention.bytes", "-1", "entries would be lost with the log's size");
  if (log) demand("message.timestamp.type", "LogAppendTime", "the time of an entry must be the broker's");
  if (settings.contains("max.message.bytes") && number(settings, "max.message.bytes") < kMessageBytesMin) {
    faults.push_back(
        {topic + " has max.message.bytes=" + settings.at("max.message.bytes") + ": too little for an entry",
         alter("max.message.bytes", std::to_string(kMessageBytes))});
  }
  return faults;
}

Status Topics::create(const TopicNames& names) {
  return create_topics({plan_of(names.log, kLogPartitions), plan_of(names.snapshots, kSnapshotPartitions)});
}

Status Topics::create_snapshots(const TopicNames& names) {
  return create_topics({plan_of(names.snapshots, kSnapshotPartitions)});
}

Status Topics::remove(const TopicNames& names) { return remove_topics({names.log, names.snapshots}); }

// A user who may not see the settings is let in: the tail notices times that are not the broker's.
Status Topics::check(const std::string& topic, bool log, int partitions) {
  const auto settings = settings_of(topic);
  if (!settings) return Failure(settings.error());
  const auto faults = faults_of(topic, log, partitions, settings->value_or(TopicSettings()), brokers_);
  if (faults.empty()) return {};
  return fail(Errc::refused, "kafka open", shown_ + ": " + faults.front().what + "; run " + faults.front().command);
}

}  // namespace tenure::kafka

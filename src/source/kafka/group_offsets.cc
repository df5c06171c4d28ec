#include "source/kafka/group_offsets.h"

namespace tenure::source {
namespace {

constexpr Nanos kCommitEvery = std::chrono::seconds(1);

}  // namespace

// The offset of the next record is the position of the last one.
void GroupOffsets::commit(rd_kafka_t* client, const std::string& topic, Instant now) {
  if (noted_.empty() || now - committed_at_ < kCommitEvery) return;
  committed_at_ = now;
  rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(static_cast<int>(noted_.size()));
  for (const auto& [partition, position] : noted_) {
    rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset = static_cast<std::int64_t>(position);
  }
  static_cast<void>(rd_kafka_commit(client, list, 1));
  rd_kafka_topic_partition_list_destroy(list);
  noted_.clear();
}

}  // namespace tenure::source

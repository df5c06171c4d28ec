#include "source/kafka/partition_fetch.h"

#include <algorithm>
#include <array>

namespace tenure::source {
namespace {

constexpr std::size_t kEventsAhead = 32'768;
constexpr std::size_t kBytesAhead = 8U << 20;
constexpr std::size_t kAnswerBytes = 4U << 20;
constexpr std::size_t kRequestBytesMax = 1U << 20;
constexpr std::size_t kRequestBytesMin = 64U << 10;
constexpr std::size_t kEventsMin = 256;
constexpr std::size_t kBytesMin = 128U << 10;

}  // namespace

FetchBounds FetchBounds::of(std::size_t partitions) {
  const std::size_t count = std::max<std::size_t>(partitions, 1);
  return {.events = std::max(kEventsAhead / count, kEventsMin),
          .bytes = std::max(kBytesAhead / count, kBytesMin),
          .request_bytes = std::clamp(kAnswerBytes / count, kRequestBytesMin, kRequestBytesMax)};
}

kafka::MoreSettings FetchBounds::settings() const {
  return {{"queued.min.messages", std::to_string(events)},
          {"queued.max.messages.kbytes", std::to_string(bytes >> 10)},
          {"fetch.message.max.bytes", std::to_string(request_bytes)},
          {"fetch.max.bytes", std::to_string(kAnswerBytes)}};
}

PartitionFetch::PartitionFetch(kafka::Client& client, const std::string& topic, std::int32_t partition,
                               FetchBounds bounds, const std::function<void()>& on_data)
    : client_(client),
      topic_(client.topic(topic)),
      partition_(partition),
      bounds_(bounds),
      on_data_(on_data),
      queue_(rd_kafka_queue_new(client.get())) {
  rd_kafka_queue_cb_event_enable(
      queue_, [](rd_kafka_t*, void* owner) { static_cast<PartitionFetch*>(owner)->on_data_(); }, this);
}

PartitionFetch::~PartitionFetch() {
  rd_kafka_queue_cb_event_enable(queue_, nullptr, nullptr);
  stop();
  rd_kafka_queue_destroy(queue_);
}

Status PartitionFetch::start(std::int64_t offset) {
  if (rd_kafka_consume_start_queue(topic_, partition_, offset, queue_) != 0) {
    return Failure(client_.explain(rd_kafka_last_error(), "read"));
  }
  running_ = true;
  events_ = bytes_ = 0;
  emptied_ = false;
  return {};
}

void PartitionFetch::stop() {
  if (!running_) return;
  running_ = false;
  rd_kafka_consume_stop(topic_, partition_);
  // What is left is outdated, but keeps the answers alive that it came with. A message in the partition's own queue
  // would keep librdkafka 2.0.2 from ending, once the topic is deleted.
  while (waiting() > 0) take(bounds_.events);
  const kafka::Message late(rd_kafka_consume(topic_, partition_, 0));
}

std::vector<kafka::Message> PartitionFetch::take(std::size_t max) {
  constexpr std::size_t kBatch = 256;
  std::array<rd_kafka_message_t*, kBatch> batch{};
  const std::size_t wanted = std::min({max, kBatch, waiting()});
  const ssize_t count = wanted == 0 ? 0 : rd_kafka_consume_batch_queue(queue_, 0, batch.data(), wanted);
  std::vector<kafka::Message> taken;
  taken.reserve(wanted);
  for (ssize_t i = 0; i < count; ++i) {
    const kafka::Message& message = taken.emplace_back(batch[static_cast<std::size_t>(i)]);
    ++events_;
    bytes_ += message->len + message->key_len;
  }
  if (waiting() == 0) {
    emptied_ = events_ >= bounds_.events / 2 || bytes_ >= bounds_.bytes / 2;
    events_ = bytes_ = 0;
  }
  return taken;
}

}  // namespace tenure::source

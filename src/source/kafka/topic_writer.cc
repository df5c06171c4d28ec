#include "source/kafka/topic_writer.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "log/kafka/admin.h"
#include "log/kafka/client.h"
#include "log/kafka/prober.h"
#include "source/kafka/produce_batch.h"
#include "source/kafka/record_event.h"
#include "source/kafka/topic_url.h"

namespace tenure::source {
namespace {

// What librdkafka takes; the topic's own limit is the broker's to say.
constexpr const char* kEventBytesMax = "67108864";
constexpr std::chrono::milliseconds kTopicPause{10};

kafka::MoreSettings writer_settings() {
  return {{"partitioner", "murmur2_random"}, {"message.max.bytes", kEventBytesMax}};
}

class TopicWriter final : public StreamWriter {
 public:
  TopicWriter(TopicUrl url, std::unique_ptr<kafka::Client> producer, std::unique_ptr<kafka::Client> prober)
      : url_(std::move(url)),
        producer_(std::move(producer)),
        prober_(url_.settings, std::move(prober)),
        admin_(url_.settings, prober_.client()),
        batches_(url_.settings, url_.topic, *producer_) {}

  Status prepare(bool create);

  Result<std::vector<std::uint64_t>> add(const std::vector<Event>& events) override {
    if (events.empty()) return std::vector<std::uint64_t>();
    if (Status good = check_added(events); !good) return Failure(good.error());
    return batches_.send(events);
  }
  Result<std::vector<Bytes>> add_named(const std::vector<Event>& events) override {
    if (events.empty()) return std::vector<Bytes>();
    if (Status good = check_added(events); !good) return Failure(good.error());
    std::vector<std::int32_t> partitions;
    const auto added = batches_.send(events, &partitions);
    if (!added) return Failure(added.error());
    std::vector<Bytes> names;
    for (std::size_t i = 0; i < added->size(); ++i) {
      names.push_back(std::to_string(partitions[i]) + "/" + std::to_string(offset_of_position((*added)[i])));
    }
    return names;
  }
  Result<std::uint64_t> trim(std::uint64_t before) override;
  Result<StreamInfo> info() override;
  Status set_limits(const StreamLimits& limits) override;
  Status remove() override { return admin_.remove_topics({url_.topic}); }

 private:
  Result<int> count();
  Status wait_for_topic();

  const TopicUrl url_;
  const std::unique_ptr<kafka::Client> producer_;
  kafka::Prober prober_;
  kafka::Admin admin_;
  BatchProducer batches_;
};

Result<int> TopicWriter::count() {
  const Result<int> found = prober_.listed_partitions(url_.topic);
  if (!found || *found > 0) return found;
  return fail(Errc::no_such_key, "kafka stream",
              url_.settings.shown + ": the topic " + url_.topic + " does not exist: create it first");
}

Status TopicWriter::prepare(bool create) {
  const Result<int> there = prober_.listed_partitions(url_.topic);
  if (!there) return Failure(there.error());
  if (*there == 0 && !create) return Failure(count().error());
  if (*there == 0) {
    const kafka::TopicPlan plan{.name = url_.topic, .partitions = static_cast<int>(url_.partitions)};
    if (Status created = admin_.create_topics({plan}); !created) return created;
  }
  return wait_for_topic();
}

// A topic that was made a moment ago has no leaders yet. Then the producer learns of it, which it would do by itself
// a second later.
Status TopicWriter::wait_for_topic() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(url_.settings.timeout_ms);
  for (;;) {
    const Result<int> there = prober_.partitions(url_.topic);
    if (there && *there > 0) break;
    if (!there && there.error().code != Errc::unavailable) return Failure(there.error());
    if (std::chrono::steady_clock::now() > deadline) return Failure(count().error());
    std::this_thread::sleep_for(kTopicPause);
  }
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(producer_->get(), 0, producer_->topic(url_.topic), &found,
                                      static_cast<int>(url_.settings.timeout_ms));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Failure(producer_->explain(code, "stream"));
  rd_kafka_metadata_destroy(found);
  return {};
}

Result<std::uint64_t> TopicWriter::trim(std::uint64_t before) {
  const Result<int> partitions = count();
  if (!partitions) return Failure(partitions.error());
  std::uint64_t dropped = 0;
  for (int i = 0; i < *partitions; ++i) {
    const auto range = prober_.range(url_.topic, i);
    if (!range) return Failure(range.error());
    const auto wanted = std::min(before, position_of_offset(range->end));
    const std::int64_t offset = std::max(offset_of_position(std::max<std::uint64_t>(wanted, 1)), range->first);
    if (offset == range->first) continue;
    if (Status done = admin_.drop_before(url_.topic, i, offset); !done) return Failure(done.error());
    dropped += static_cast<std::uint64_t>(offset - range->first);
  }
  return dropped;
}

Result<StreamInfo> TopicWriter::info() {
  const Result<int> partitions = count();
  if (!partitions) return Failure(partitions.error());
  StreamInfo info{.partitions = static_cast<std::uint32_t>(*partitions)};
  for (int i = 0; i < *partitions; ++i) {
    const auto range = prober_.range(url_.topic, i);
    if (!range) return Failure(range.error());
    const Ends ends{.first = position_of_offset(range->first), .last = static_cast<std::uint64_t>(range->end)};
    info.events += ends.last + 1 - ends.first;
    info.ends.first = i == 0 ? ends.first : std::min(info.ends.first, ends.first);
    info.ends.last = std::max(info.ends.last, ends.last);
  }
  return info;
}

// A broker drops by age and by size, and refuses nothing.
Status TopicWriter::set_limits(const StreamLimits& limits) {
  if (limits.events_max == 0) return {};
  return fail(Errc::refused, "kafka stream",
              "Kafka cannot bound a topic by a number of events. It can drop the oldest by size or age: " +
                  kafka::alter_command(url_.settings.brokers, url_.topic, "retention.bytes=N,retention.ms=N") +
                  "; or trim the stream");
}

}  // namespace

Result<std::unique_ptr<StreamWriter>> open_kafka_stream(std::string_view url, bool create) {
  auto topic = parse_topic_url(url);
  if (!topic) return Failure(topic.error());
  auto producer = kafka::Client::make(topic->settings, kafka::Role::producer, nullptr, writer_settings());
  if (!producer) return Failure(producer.error());
  auto prober = kafka::Client::make(topic->settings, kafka::Role::prober, nullptr);
  if (!prober) return Failure(prober.error());
  auto writer = std::make_unique<TopicWriter>(*std::move(topic), *std::move(producer), *std::move(prober));
  if (Status prepared = writer->prepare(create); !prepared) return Failure(prepared.error());
  return std::unique_ptr<StreamWriter>(std::move(writer));
}

}  // namespace tenure::source

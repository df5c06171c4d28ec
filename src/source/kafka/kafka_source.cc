#include "source/kafka/kafka_source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "log/kafka/client.h"
#include "log/kafka/prober.h"
#include "log/url_text.h"
#include "source/kafka/group_offsets.h"
#include "source/kafka/kafka_partition.h"
#include "source/kafka/record_event.h"
#include "source/kafka/surveyor.h"
#include "source/kafka/topic_url.h"
#include "source/signal.h"

namespace tenure::source {
namespace {

constexpr std::uint32_t kPartitionMax = 1U << 20;
constexpr std::size_t kPartitionsAssumed = 64;
// How often the partitions that are not being read are looked after.
constexpr Nanos kServeEvery = std::chrono::milliseconds(20);
constexpr Nanos kLookEvery = std::chrono::seconds(1);

class KafkaSource final : public Source {
 public:
  KafkaSource(TopicUrl url, std::unique_ptr<kafka::Client> prober)
      : url_(std::move(url)),
        on_data_([this] { signal_.raise(); }),
        prober_(url_.settings, std::move(prober)),
        surveyor_(url_.settings, url_.topic, prober_, [this] { return refresh(); }, on_data_) {}
  ~KafkaSource() override {
    if (reader_) rd_kafka_queue_cb_event_enable(reader_->queue(), nullptr, nullptr);
  }
  KafkaSource(const KafkaSource&) = delete;
  KafkaSource& operator=(const KafkaSource&) = delete;

  Bytes event_name(std::uint64_t position) const override { return std::to_string(offset_of_position(position)); }
  Result<std::vector<Bytes>> partitions() override;
  Result<Ends> ends(BytesView partition) override;
  Result<std::uint64_t> find(BytesView partition, const StartAt& at) override;
  Status open(BytesView partition, std::uint64_t after, std::vector<Mark> marks) override;
  void close(BytesView partition) override;
  Result<Run> read(BytesView partition, const ReadLimits& limits) override;
  void wait(Instant until) override;
  void wake() override { signal_.raise(); }
  void note_read(BytesView partition, std::uint64_t position) override;

 private:
  struct Open {
    std::unique_ptr<KafkaPartition> partition;
    std::uint64_t ticket = 0;
  };

  Result<std::int32_t> number_of(BytesView partition) const;
  Status make_reader();
  Status refresh();
  void serve();
  void ask(std::int32_t number, Open& open);
  Failure missing() const;
  // The prober speaks of a log.
  template <class T>
  Result<T> about_topic(Result<T> result) const {
    if (result || result.error().code != Errc::lost_history) return result;
    return missing();
  }

  const TopicUrl url_;
  const BootClock clock_;
  Signal signal_;
  const std::function<void()> on_data_;
  kafka::Prober prober_;
  std::size_t known_ = 0;  // partitions
  std::unique_ptr<kafka::Client> reader_;
  std::atomic<kafka::Client*> refreshed_ = nullptr;  // the reader, for the surveyor
  FetchBounds bounds_;
  std::uint64_t connections_ = 0;
  Instant served_at_{};
  std::map<std::int32_t, Open> open_;  // destroyed before the reader
  std::uint64_t tickets_ = 0;
  GroupOffsets group_;
  Surveyor surveyor_;  // destroyed first: it uses all others
};

Failure KafkaSource::missing() const {
  return fail(Errc::no_such_key, "kafka read",
              url_.settings.shown + ": the topic " + url_.topic + " does not exist: check its name, or create it");
}

Result<std::int32_t> KafkaSource::number_of(BytesView partition) const {
  const auto number = url_number(partition, 0, kPartitionMax);
  if (number) return static_cast<std::int32_t>(*number);
  return fail(Errc::no_such_key, "kafka read", "the partitions of a topic have numbers for names");
}

Result<std::vector<Bytes>> KafkaSource::partitions() {
  const auto count = about_topic(prober_.listed_partitions(url_.topic));
  if (!count) return Failure(count.error());
  if (*count == 0) return missing();
  known_ = std::max(known_, static_cast<std::size_t>(*count));
  std::vector<Bytes> names;
  names.reserve(known_);
  for (std::size_t i = 0; i < known_; ++i) names.push_back(std::to_string(i));
  return names;
}

Result<Ends> KafkaSource::ends(BytesView partition) {
  const auto number = number_of(partition);
  if (!number) return Failure(number.error());
  const auto range = about_topic(prober_.range(url_.topic, *number));
  if (!range) return Failure(range.error());
  return Ends{.first = position_of_offset(range->first), .last = static_cast<std::uint64_t>(range->end)};
}

Result<std::uint64_t> KafkaSource::find(BytesView partition, const StartAt& at) {
  const auto found = ends(partition);
  if (!found) return Failure(found.error());
  if (const auto known = start_behind(at, *found)) return std::min(*known, found->last);
  const auto offset = about_topic(prober_.offset_at_time(url_.topic, *number_of(partition), at.time_ms));
  if (!offset) return Failure(offset.error());
  return static_cast<std::uint64_t>(*offset);
}

Status KafkaSource::make_reader() {
  if (reader_) return {};
  // A process that only feeds some partitions has not asked for all of them. Without an answer there may be many.
  if (known_ == 0) static_cast<void>(partitions());
  bounds_ = FetchBounds::of(known_ == 0 ? kPartitionsAssumed : known_);
  kafka::MoreSettings more = bounds_.settings();
  if (!url_.group.empty()) more.emplace_back("group.id", url_.group);
  auto client = kafka::Client::make(url_.settings, kafka::Role::reader, nullptr, more);
  if (!client) return Failure(client.error());
  reader_ = *std::move(client);
  refreshed_ = reader_.get();
  rd_kafka_queue_cb_event_enable(
      reader_->queue(), [](rd_kafka_t*, void* source) { static_cast<KafkaSource*>(source)->signal_.raise(); }, this);
  return {};
}

// On the surveyor's thread: librdkafka looks at a topic that is new, or was made again, only every ten seconds.
Status KafkaSource::refresh() {
  kafka::Client& client = *refreshed_;
  const rd_kafka_metadata_t* found = nullptr;
  const auto code =
      rd_kafka_metadata(client.get(), 0, client.topic(url_.topic), &found, static_cast<int>(url_.settings.timeout_ms));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return Failure(client.explain(code, "read"));
  rd_kafka_metadata_destroy(found);
  return {};
}

Status KafkaSource::open(BytesView partition, std::uint64_t after, std::vector<Mark> marks) {
  const auto number = number_of(partition);
  if (!number) return Failure(number.error());
  if (Status made = make_reader(); !made) return made;
  Open& open = open_[*number];
  if (!open.partition) {
    open.partition = std::make_unique<KafkaPartition>(*reader_, url_.topic, *number, bounds_, on_data_);
  }
  open.partition->open(after, std::move(marks));
  ask(*number, open);
  return {};
}

void KafkaSource::close(BytesView partition) {
  const auto number = number_of(partition);
  if (!number) return;
  surveyor_.forget(*number);
  open_.erase(*number);
}

Result<Run> KafkaSource::read(BytesView partition, const ReadLimits& limits) {
  serve();
  const auto number = number_of(partition);
  if (!number) return Failure(number.error());
  const auto found = open_.find(*number);
  if (found == open_.end()) return fail(Errc::invalid, "kafka read", "the partition is not open");
  Result<Run> run = found->second.partition->read(limits, clock_.now());
  ask(*number, found->second);
  if (run && !run->events.empty()) signal_.raise();  // there may be more
  return run;
}

void KafkaSource::ask(std::int32_t number, Open& open) {
  auto question = open.partition->take_question(clock_.now());
  if (!question) return;
  open.ticket = ++tickets_;
  surveyor_.ask(number, open.ticket, std::move(question->question), question->begins);
}

// What happens beside reading: answers, errors of the topic, and partitions that nobody reads.
void KafkaSource::serve() {
  for (const Surveyor::Answered& answered : surveyor_.take()) {
    const auto found = open_.find(answered.partition);
    if (found != open_.end() && found->second.ticket == answered.ticket) found->second.partition->hear(answered.answer);
  }
  if (!reader_) return;
  while (rd_kafka_queue_length(reader_->queue()) > 0) reader_->poll_message(0);  // its callbacks
  const bool topic_error = reader_->take_topic_error(url_.topic);
  const bool reconnected = reader_->connections() != connections_;
  connections_ = reader_->connections();
  const Instant now = clock_.now();
  if (!topic_error && !reconnected && now - served_at_ < kServeEvery) return;
  served_at_ = now;
  for (auto& [number, open] : open_) {
    if (topic_error) open.partition->doubt();
    if (reconnected) open.partition->look();
    open.partition->rest(now);
    ask(number, open);
  }
  group_.commit(reader_->get(), url_.topic, now);
}

void KafkaSource::wait(Instant until) {
  serve();
  signal_.wait(std::min(until, clock_.now() + kLookEvery));
}

void KafkaSource::note_read(BytesView partition, std::uint64_t position) {
  const auto number = number_of(partition);
  if (number && !url_.group.empty()) group_.note(*number, position);
}

}  // namespace

Result<std::unique_ptr<Source>> open_kafka_source(std::string_view url) {
  auto topic = parse_topic_url(url);
  if (!topic) return Failure(topic.error());
  auto prober = kafka::Client::make(topic->settings, kafka::Role::prober, nullptr);
  if (!prober) return Failure(prober.error());
  return std::unique_ptr<Source>(new KafkaSource(*std::move(topic), *std::move(prober)));
}

}  // namespace tenure::source

#include "source/kafka/bare_rate.h"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/entropy.h"
#include "log/kafka/admin.h"
#include "log/kafka/client.h"
#include "log/kafka/prober.h"
#include "source/kafka/partition_fetch.h"

namespace tenure::source {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kRateWaitMs = 100;
constexpr std::chrono::seconds kRatePatience{120};

Failure no_rate() { return fail(Errc::unavailable, "kafka rate", "the records did not arrive"); }

void produce_all(kafka::Client& producer, const std::string& topic, std::uint64_t records, std::uint64_t bytes,
                 const std::atomic<bool>& over) {
  std::string data(bytes, 'x');
  for (std::uint64_t i = 0; i < records && !over;) {
    const int failed =
        rd_kafka_produce(producer.topic(topic), 0, RD_KAFKA_MSG_F_COPY, data.data(), data.size(), nullptr, 0, nullptr);
    if (failed == 0) ++i;
    while (producer.poll_reports(failed == 0 ? 0 : 1)) {
      // The reports are of no use here.
    }
  }
}

Result<double> rate_of(kafka::Client& producer, kafka::Client& consumer, const std::string& topic,
                       std::uint64_t records, std::uint64_t bytes) {
  if (rd_kafka_consume_start_queue(consumer.topic(topic), 0, 0, consumer.queue()) != 0) return no_rate();
  const auto began = SteadyClock::now();
  std::atomic<bool> over = false;
  std::thread producing([&] { produce_all(producer, topic, records, bytes, over); });
  std::uint64_t arrived = 0;
  std::array<rd_kafka_message_t*, 1000> batch{};
  while (arrived < records && SteadyClock::now() - began < kRatePatience) {
    const ssize_t count = rd_kafka_consume_batch_queue(consumer.queue(), kRateWaitMs, batch.data(), batch.size());
    for (ssize_t i = 0; i < count; ++i) {
      const kafka::Message message(batch[static_cast<std::size_t>(i)]);
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) ++arrived;
    }
  }
  const double seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  over = true;
  producing.join();
  rd_kafka_consume_stop(consumer.topic(topic), 0);
  if (arrived < records) return no_rate();
  return static_cast<double>(records) / seconds;
}

}  // namespace

Result<double> measure_kafka_rate(std::string_view engine_url, std::uint64_t records, std::uint64_t bytes) {
  const auto settings = kafka::parse_settings(engine_url);
  if (!settings) return Failure(settings.error());
  auto made = kafka::Client::make(*settings, kafka::Role::prober, nullptr);
  if (!made) return Failure(made.error());
  kafka::Prober prober(*settings, *std::move(made));
  kafka::Admin admin(*settings, prober.client());
  const std::string topic = settings->prefix + ".bench-rate-" + to_hex(SystemEntropy().id());
  if (Status created = admin.create_topics({{.name = topic}}); !created) return Failure(created.error());
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(settings->timeout_ms);
  for (Result<int> there = 0; (!there || *there == 0) && SteadyClock::now() < deadline;) {
    there = prober.partitions(topic);
  }
  const auto producer = kafka::Client::make(*settings, kafka::Role::producer, nullptr);
  const auto consumer = kafka::Client::make(*settings, kafka::Role::tail, nullptr);
  Result<double> rate = no_rate();
  if (producer && consumer) rate = rate_of(**producer, **consumer, topic, records, bytes);
  static_cast<void>(admin.remove_topics({topic}));
  return rate;
}

}  // namespace tenure::source

#include "log/kafka/hops.h"

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/entropy.h"
#include "log/kafka/client.h"
#include "log/kafka/prober.h"
#include "log/kafka/topics.h"

namespace tenure::kafka {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kPatienceMs = 10'000;
// The idle time between an entry and the next. The consumer waits, and the broker has nothing else to do.
constexpr std::chrono::microseconds kIdle{1000};

Failure no_entry() { return fail(Errc::unavailable, "kafka hop", "an entry did not arrive"); }

// When the record comes, or nothing if it does not.
std::optional<SteadyClock::time_point> arrival(Client& consumer) {
  const Message message = consumer.poll_message(kPatienceMs);
  if (!message || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
  return SteadyClock::now();
}

Result<std::vector<Nanos>> measure(Client& producer, Client& consumer, const std::string& topic, int count) {
  rd_kafka_topic_t* const to = producer.topic(topic);
  rd_kafka_topic_t* const from = consumer.topic(topic);
  std::string data(64, 'x');
  std::vector<Nanos> hops;
  if (rd_kafka_consume_start_queue(from, 0, 0, consumer.queue()) != 0) return no_entry();
  // The first ones make the connections.
  constexpr int kWarmUp = 10;
  for (int i = 0; i < count + kWarmUp; ++i) {
    std::this_thread::sleep_for(kIdle);
    const SteadyClock::time_point began = SteadyClock::now();
    if (rd_kafka_produce(to, 0, RD_KAFKA_MSG_F_COPY, data.data(), data.size(), nullptr, 0, nullptr) != 0) break;
    const auto came = arrival(consumer);
    if (!came) break;
    if (i >= kWarmUp) hops.push_back(*came - began);
    while (producer.poll_reports(0)) {
      // The reports are of no use here.
    }
  }
  rd_kafka_consume_stop(from, 0);
  if (hops.size() != static_cast<std::size_t>(count)) return no_entry();
  return hops;
}

}  // namespace

Result<std::vector<Nanos>> measure_hops(std::string_view url, int count) {
  const auto settings = parse_settings(url);
  if (!settings) return Failure(settings.error());
  auto made = Client::make(*settings, Role::prober, nullptr);
  if (!made) return Failure(made.error());
  Prober prober(*settings, *std::move(made));
  Topics topics(*settings, prober.client());
  const TopicNames names(settings->prefix, "bench-hop-" + to_hex(SystemEntropy().id()), 0);
  if (Status created = topics.create(names); !created) return Failure(created.error());
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(kPatienceMs);
  for (Result<int> there = 0; (!there || *there == 0) && SteadyClock::now() < deadline;) {
    there = prober.partitions(names.log);
  }
  const auto producer = Client::make(*settings, Role::producer, nullptr);
  const auto consumer = Client::make(*settings, Role::tail, nullptr);
  Result<std::vector<Nanos>> hops = no_entry();
  if (producer && consumer) hops = measure(**producer, **consumer, names.log, count);
  static_cast<void>(topics.remove(names));
  return hops;
}

}  // namespace tenure::kafka

// A stream: one thread adds events, and two readers follow it, one of them a single topic. Ends by itself.
//
//   example_stream [ENGINE]      memory:example, sqlite:PATH, redis://HOST

#include <atomic>
#include <cstdio>
#include <string>
#include <tenure/stream_reader.hpp>
#include <thread>

namespace {

using namespace std::chrono_literals;

constexpr int kEvents = 6;

// Reads until it has seen `count` events, and prints them.
int follow(const char* who, tenure::StreamReader& reader, int count) {
  int seen = 0;
  while (seen < count) {
    const tenure::Result<tenure::StreamItem> item = reader.next(10s);
    if (!item) {
      std::fprintf(stderr, "%s: %s\n", who, item.error().message().c_str());
      return 1;
    }
    if (const auto* const event = std::get_if<tenure::StreamEvent>(&*item)) {
      std::printf("%s: %s %s\n", who, event->topic.c_str(), event->payload.c_str());
      ++seen;
    } else if (const auto* const lost = std::get_if<tenure::StreamLoss>(&*item)) {
      std::printf("%s: %llu events were trimmed before they were read\n", who,
                  static_cast<unsigned long long>(lost->count));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string engine = argc > 1 ? argv[1] : "memory:example";
  auto stream = tenure::Stream::open(engine, "example-orders");
  if (!stream) {
    std::fprintf(stderr, "%s\n", stream.error().message().c_str());
    return 1;
  }
  // At most a thousand events are kept.
  if (!stream->set_bound({.events_max = 1000, .policy = tenure::StreamBound::Policy::drop_oldest})) return 1;

  // Both start at the newest event, which is looked up here: nothing that is added from now on is missed.
  auto all = tenure::StreamReader::open(engine, {"example-orders"});
  auto europe = tenure::StreamReader::open(engine, {"example-orders"}, {.topic_pattern = "eu.*"});
  if (!all || !europe) return 1;

  std::atomic<int> trouble = 0;
  std::thread adder([&] {
    for (int i = 0; i < kEvents; ++i) {
      const std::string topic = i % 2 == 0 ? "eu.west" : "us.east";
      const auto position = stream->add({.topic = topic, .key = "customer", .payload = "order " + std::to_string(i)});
      if (!position) trouble = 1;
    }
  });
  std::thread european([&] { trouble |= follow("europe", *europe, kEvents / 2); });
  const int whole = follow("all", *all, kEvents);
  european.join();
  adder.join();
  if (whole != 0 || trouble != 0 || !stream->remove()) return 1;
  return 0;
}

#pragma once

// Shared by the tests of topics as sources: reading with a deadline, and a place on the shared broker.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kafka/admin.h"
#include "kafka/producer.h"
#include "kafka/shared_broker.h"
#include "log_conformance/member.h"
#include "log_conformance/waiting.h"
#include "source/source.h"

namespace tenure::conformance {

inline std::unique_ptr<source::Source> source_at(const std::string& url) {
  auto opened = source::open_source(url);
  EXPECT_TRUE(opened) << opened.error().message();
  return opened ? std::move(*opened) : nullptr;
}

// What a reader has got of a partition.
struct TopicReading {
  std::vector<source::Event> events{};
  std::vector<source::Loss> losses{};
  std::vector<source::Change> changes{};
  std::uint64_t resumed = 0;
  std::uint64_t position = 0;
  Errc error{};

  void add(const source::Run& run) {
    if (run.lost) losses.push_back(*run.lost);
    if (run.change != source::Change::none) {
      changes.push_back(run.change);
      resumed = run.resumed;
      position = run.resumed;
    }
    EXPECT_TRUE(run.position == 0 || run.position > position) << run.position << " behind " << position;
    for (const source::Event& event : run.events) {
      EXPECT_GT(event.position, position);
      EXPECT_LE(event.position, run.position);
      events.push_back(event);
    }
    if (run.position != 0) position = run.position;
  }
  std::vector<std::string> payloads() const {
    std::vector<std::string> all;
    for (const source::Event& event : events) all.push_back(event.payload);
    return all;
  }
  std::vector<source::Mark> marks() const {
    std::vector<source::Mark> all;
    for (const source::Event& event : events) all.push_back(source::mark_of(event));
    return all;
  }
};

// Reads on until `done` or the deadline.
inline bool read_until(source::Source& from, const std::string& partition, TopicReading& reading,
                       const std::function<bool()>& done) {
  const BootClock clock;
  const Instant deadline = clock.now() + kDeadline;
  while (!done()) {
    if (clock.now() > deadline) return false;
    const auto run = from.read(partition, {});
    reading.error = code_of(run);
    if (run) reading.add(*run);
    if (!run || run->events.empty()) from.wait(clock.now() + std::chrono::milliseconds(100));
  }
  return true;
}

inline bool read_events(source::Source& from, const std::string& partition, TopicReading& reading, std::size_t count) {
  return read_until(from, partition, reading, [&] { return reading.events.size() >= count; });
}

class KafkaSourceTest : public testing::Test {
 protected:
  const std::string& brokers() const { return space_.brokers(); }
  std::string topic() const { return space_.prefix() + ".orders"; }
  std::string url(const std::string& options = "") const { return "kafka://" + brokers() + "/" + topic() + options; }
  const KafkaAdmin& admin() const { return admin_; }
  const PlainProducer& producer() const { return producer_; }
  void make_topic(int partitions = 1, const KafkaAdmin::Settings& settings = {}) const {
    admin_.make_topic(topic(), partitions, settings);
  }
  void write(const std::string& value, int partition = 0) const {
    producer_.write(topic(), partition, {.value = value});
  }

 private:
  const TopicSpace space_{shared_broker()};
  const KafkaAdmin admin_{space_.brokers()};
  const PlainProducer producer_{space_.brokers()};
};

}  // namespace tenure::conformance

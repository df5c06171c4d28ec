#pragma once

// Another program's producer, and its reader of the offsets of a group.

#include <cstdint>
#include <optional>
#include <string>

struct rd_kafka_s;

namespace tenure::conformance {

struct PlainRecord {
  std::optional<std::string> key{};
  std::string value{};
  std::string name{};  // the headers that streams know
  std::string topic{};
  std::int64_t time_ms = 0;  // zero: now
};

// Each call fails the test if the broker refuses.
class PlainProducer {
 public:
  // With the name of a transaction, everything is written within one.
  explicit PlainProducer(const std::string& brokers, const std::string& transaction = {});
  ~PlainProducer();
  PlainProducer(const PlainProducer&) = delete;
  PlainProducer& operator=(const PlainProducer&) = delete;

  // Returns when it is in the topic.
  void write(const std::string& topic, int partition, const PlainRecord& record) const;
  // Returns when all are. `value` is repeated.
  void flood(const std::string& topic, int partition, int count, const std::string& value) const;
  void begin() const;
  void commit() const;
  void abort() const;

 private:
  void produce(const std::string& topic, int partition, const PlainRecord& record) const;

  rd_kafka_s* const handle_;
};

// What a group has committed, or a number below zero.
std::int64_t committed_offset(const std::string& brokers, const std::string& group, const std::string& topic,
                              int partition);

}  // namespace tenure::conformance

#pragma once

// What tests do to a broker beside the engine: as its administrator, or as another program with its topics.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct rd_kafka_s;

namespace tenure::conformance {

class KafkaAdmin {
 public:
  using Settings = std::map<std::string, std::string>;

  // `connection` are settings of librdkafka, for a login.
  explicit KafkaAdmin(const std::string& brokers, const Settings& connection = {});
  ~KafkaAdmin();
  KafkaAdmin(const KafkaAdmin&) = delete;
  KafkaAdmin& operator=(const KafkaAdmin&) = delete;

  // The names that begin so.
  std::vector<std::string> topics(const std::string& prefix) const;
  // The number of the broker that leads the first partition, or less than zero.
  int leader(const std::string& topic) const;
  // How many of the first partition's copies are in sync, or less than zero.
  int in_sync(const std::string& topic) const;
  // Each returns when the broker has done it and shows it, and fails the test if it refuses.
  void make_topic(const std::string& name, int partitions, const Settings& settings) const;
  // Until the topic has so many.
  void add_partitions(const std::string& name, int partitions) const;
  void delete_topics(const std::vector<std::string>& names) const;
  void alter_topic(const std::string& name, const Settings& settings) const;
  // Drops the records before this offset.
  void drop_before(const std::string& topic, int partition, std::int64_t offset) const;
  // The number of records that a partition has.
  std::int64_t records(const std::string& topic, int partition) const;
  // A rule for all topics whose names begin so. The broker follows it a moment later.
  enum class Right : std::uint8_t { read, write, describe, create, drop, read_settings };
  void allow(const std::string& user, Right right, const std::string& prefix) const;
  void deny(const std::string& user, Right right, const std::string& prefix) const;
  void write(const std::string& topic, int partition, const std::string& key, const std::string& value) const;

 private:
  void wait_until_listed(const std::string& name, bool listed) const;

  rd_kafka_s* const handle_;
};

// The settings that the engine gives its topics, as far as it demands them.
KafkaAdmin::Settings log_settings();

}  // namespace tenure::conformance

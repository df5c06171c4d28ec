#pragma once

// Reads single records of the log, and looks up where it begins and ends. All proofs about the log use it: which id the
// log has, and whether an entry is still in its place.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "log/kafka/client.h"
#include "log/kafka/record.h"
#include "log/kafka/stored.h"

namespace tenure::kafka {

struct Range {
  std::int64_t first = 0;  // offset of the first record that is still there
  std::int64_t end = 0;    // offset of the next record
};

// Thread-safe; one caller at a time reads, the others wait. Every call has a deadline. Fails with lost_history if the
// topic does not exist.
class Prober {
 public:
  Prober(const KafkaSettings& settings, std::unique_ptr<Client> client)
      : settings_(settings), client_(std::move(client)) {}

  // The record at this offset, or nothing if there is none.
  Result<std::optional<Stored>> record_at(const std::string& topic, std::int32_t partition, std::int64_t offset);
  // The entry whose only or last record is at this offset, with all its data. Nothing if there is none.
  Result<std::optional<Stored>> entry_at(const std::string& topic, std::int64_t offset);
  // Hands over each record from `from` to before `end`, until `take` returns false.
  Status scan(const std::string& topic, std::int32_t partition, std::int64_t from, std::int64_t end,
              const std::function<bool(const Stored&)>& take);
  // The same for any record, of whatever program.
  Status scan_messages(const std::string& topic, std::int32_t partition, std::int64_t from, std::int64_t end,
                       const std::function<bool(const rd_kafka_message_t&)>& take);
  Result<Range> range(const std::string& topic, std::int32_t partition);
  Result<std::int64_t> end(const std::string& topic, std::int32_t partition);
  // The number of partitions, or zero if there is no such topic. Fails if one has no leader.
  Result<int> partitions(const std::string& topic) { return count_partitions(topic, true); }
  // The same, whether they have leaders or not.
  Result<int> listed_partitions(const std::string& topic) { return count_partitions(topic, false); }
  // The offset of the first record with this time or a later one. The end if there is none.
  Result<std::int64_t> offset_at_time(const std::string& topic, std::int32_t partition, std::int64_t time_ms);

  Client& client() { return *client_; }
  // Makes running calls return soon.
  void close() { closing_ = true; }

 private:
  Result<int> count_partitions(const std::string& topic, bool with_leaders);
  bool is_at_end(const std::string& topic, std::int32_t partition, std::int64_t offset);
  rd_kafka_resp_err_t ask_offset(const std::string& topic, std::int32_t partition, std::int64_t& offset);
  Result<std::int64_t> list_offset(const std::string& topic, std::int32_t partition, std::int64_t which);
  rd_kafka_resp_err_t ask_metadata(rd_kafka_topic_t* topic, const rd_kafka_metadata_t*& found);
  void settle();
  Failure broken(const std::string& topic, rd_kafka_resp_err_t code);

  const KafkaSettings& settings_;
  const std::unique_ptr<Client> client_;
  std::atomic<bool> closing_ = false;
  std::mutex reading_;                      // a partition can be read once at a time
  rd_kafka_topic_t* read_topic_ = nullptr;  // what was read last; guarded by reading_
  std::int32_t read_partition_ = 0;         // guarded by reading_
};

}  // namespace tenure::kafka

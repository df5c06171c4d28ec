#pragma once

// Writes records and waits for them, for snapshots and for the first record of a log.

#include <memory>
#include <string>

#include "base/result.h"
#include "log/kafka/client.h"
#include "log/kafka/record.h"

namespace tenure::kafka {

// Used from one thread.
class Writer {
 public:
  static Result<Writer> make(const KafkaSettings& settings);

  // Returns while a bounded number of bytes is on the way.
  Status write(const std::string& topic, std::int32_t partition, const Key& key, BytesView value);
  // Waits for all records.
  Status flush();

  // Of the records since the last call.
  std::int64_t first() const { return first_; }
  std::int64_t end() const { return end_; }
  void forget() {
    first_ = INT64_MAX;
    end_ = 0;
  }

 private:
  Writer(const KafkaSettings& settings, std::unique_ptr<Client> client)
      : settings_(&settings), client_(std::move(client)) {}
  Status wait_below(std::size_t bytes);

  const KafkaSettings* settings_;
  std::unique_ptr<Client> client_;
  std::size_t bytes_ = 0;
  std::size_t records_ = 0;
  std::int64_t first_ = INT64_MAX;
  std::int64_t end_ = 0;
};

}  // namespace tenure::kafka

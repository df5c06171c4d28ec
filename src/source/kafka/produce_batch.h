#pragma once

// Produces a run of events, and waits for the answers. Several threads may do it with one producer: whoever polls takes
// the answers of all.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "log/kafka/client.h"
#include "source/source.h"

namespace tenure::source {

// Thread-safe.
class BatchProducer {
 public:
  BatchProducer(const kafka::KafkaSettings& settings, std::string topic, kafka::Client& client)
      : settings_(settings), topic_(std::move(topic)), client_(client) {}

  // The positions of the events. Errc::unavailable if none was written, Errc::unknown if some may have been.
  Result<std::vector<std::uint64_t>> send(const std::vector<Event>& events,
                                          std::vector<std::int32_t>* partitions = nullptr);

 private:
  struct Batch;
  struct Slot {
    Batch* batch = nullptr;
    std::size_t index = 0;
  };
  rd_kafka_resp_err_t produce(const Event& event, Slot& slot);
  void wait_for(Batch& batch);
  void take(rd_kafka_event_t& event);
  Error error_of(rd_kafka_resp_err_t code, bool written) const;

  const kafka::KafkaSettings& settings_;
  const std::string topic_;
  kafka::Client& client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool polling_ = false;  // guarded by mutex_
};

}  // namespace tenure::source

#pragma once

// Fetches one partition with an instance of librdkafka that several share, into a queue of its own. librdkafka stops
// fetching a partition whose queue is full.

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "log/kafka/client.h"

namespace tenure::source {

// How much is fetched ahead, of one partition.
struct FetchBounds {
  // Shares the bounds of a source among its partitions.
  static FetchBounds of(std::size_t partitions);

  std::size_t events = 0;
  std::size_t bytes = 0;
  std::size_t request_bytes = 0;  // of one answer

  kafka::MoreSettings settings() const;
};

// Used from one thread.
class PartitionFetch {
 public:
  // `on_data` is called on a thread of librdkafka when the empty queue gets something. It must be quick.
  PartitionFetch(kafka::Client& client, const std::string& topic, std::int32_t partition, FetchBounds bounds,
                 const std::function<void()>& on_data);
  ~PartitionFetch();
  PartitionFetch(const PartitionFetch&) = delete;
  PartitionFetch& operator=(const PartitionFetch&) = delete;

  // Begins at this offset.
  Status start(std::int64_t offset);
  // Forgets what was fetched, too.
  void stop();
  bool running() const { return running_; }
  std::size_t waiting() const { return rd_kafka_queue_length(queue_); }

  // What has been fetched, at most `max` records and messages about the partition. Does not wait.
  std::vector<kafka::Message> take(std::size_t max);
  // The queue was full, and has been emptied since. librdkafka 2.0.2 would look at it only after up to a second:
  // restart the fetch.
  bool stalled() const { return emptied_; }

 private:
  kafka::Client& client_;
  rd_kafka_topic_t* const topic_;
  const std::int32_t partition_;
  const FetchBounds bounds_;
  const std::function<void()>& on_data_;
  rd_kafka_queue_t* const queue_;
  bool running_ = false;
  std::size_t events_ = 0;  // taken since the queue was empty
  std::size_t bytes_ = 0;
  bool emptied_ = false;
};

}  // namespace tenure::source

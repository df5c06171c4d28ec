#pragma once

// Fetches one stream for a reader, on a thread of its own: the source's read and wait belong to one thread, and a wait
// is for one source.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "source/source.h"
#include "stream/item_queue.h"
#include "stream/topic_filter.h"

namespace tenure {

class StreamPump {
 public:
  // Finds out where to begin. Blocks until the engine has answered.
  static Result<std::unique_ptr<StreamPump>> open(std::string_view engine, const std::string& stream,
                                                  const StreamReaderOptions& options, const TopicFilter& filter,
                                                  ItemQueue& queue);
  // After the queue was stopped.
  ~StreamPump();
  StreamPump(const StreamPump&) = delete;
  StreamPump& operator=(const StreamPump&) = delete;

  // Where each partition begins.
  std::vector<StreamPosition> begins() const;
  void start();
  void wake() { source_->wake(); }

 private:
  struct Partition {
    StreamPosition at;
    bool open = false;
  };

  StreamPump(std::string stream, std::unique_ptr<source::Source> source, const TopicFilter& filter, ItemQueue& queue)
      : stream_(std::move(stream)), source_(std::move(source)), filter_(filter), queue_(queue) {}

  void serve();
  void find_partitions();
  bool read(Partition& partition);
  bool hand_over(Partition& partition, source::Run run);

  const std::string stream_;
  const std::unique_ptr<source::Source> source_;
  const TopicFilter& filter_;
  ItemQueue& queue_;
  const BootClock clock_;
  std::vector<Partition> partitions_;
  Instant looked_at_;  // for more partitions
  std::thread thread_;
};

}  // namespace tenure

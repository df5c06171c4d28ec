#include <tenure/stream_reader.hpp>

#include <map>
#include <mutex>
#include <utility>

#include "stream/item_queue.h"
#include "stream/stream_pump.h"
#include "stream/topic_filter.h"

namespace tenure {
namespace {

constexpr std::size_t kStreamsMax = 64;

}  // namespace

struct StreamReader::Impl {
  explicit Impl(const StreamReaderOptions& options)
      : filter(options.topics, options.topic_pattern), queue(std::max<std::size_t>(options.buffered_max, 1)) {}
  ~Impl() {
    queue.stop();
    for (const auto& pump : pumps) pump->wake();
    pumps.clear();
  }

  const TopicFilter filter;
  ItemQueue queue;
  std::vector<std::unique_ptr<StreamPump>> pumps;
  std::map<std::pair<std::string, std::string>, StreamPosition> positions;  // by stream and partition
};

StreamReader::StreamReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StreamReader::StreamReader(StreamReader&&) noexcept = default;
StreamReader& StreamReader::operator=(StreamReader&&) noexcept = default;
StreamReader::~StreamReader() = default;

Result<StreamReader> StreamReader::open(std::string_view engine, const std::vector<std::string>& streams,
                                        const StreamReaderOptions& options) {
  if (streams.empty() || streams.size() > kStreamsMax) {
    return Failure({Errc::invalid, "read streams", "a reader has 1 to 64 streams"});
  }
  auto impl = std::make_unique<Impl>(options);
  for (const std::string& stream : streams) {
    auto pump = StreamPump::open(engine, stream, options, impl->filter, impl->queue);
    if (!pump) return Failure(pump.error());
    for (StreamPosition& at : (*pump)->begins()) {
      const std::pair key{at.stream, at.partition};
      if (!impl->positions.emplace(key, std::move(at)).second) {
        return Failure({Errc::invalid, "read streams", "the stream '" + stream + "' is named twice"});
      }
    }
    impl->pumps.push_back(*std::move(pump));
  }
  for (const auto& pump : impl->pumps) pump->start();
  return StreamReader(std::move(impl));
}

Result<StreamItem> StreamReader::next(std::chrono::nanoseconds timeout) {
  const Deadline deadline = after(timeout);
  for (;;) {
    Result<ItemQueue::Entry> entry = impl_->queue.take(deadline);
    if (!entry) return Failure(entry.error());
    const std::pair key{entry->behind.stream, entry->behind.partition};
    if (!key.first.empty()) impl_->positions.insert_or_assign(key, std::move(entry->behind));
    if (entry->item) return *std::move(entry->item);
  }
}

std::vector<StreamPosition> StreamReader::positions() const {
  std::vector<StreamPosition> all;
  for (const auto& [key, position] : impl_->positions) all.push_back(position);
  return all;
}

void StreamReader::stop() { impl_->queue.stop(); }

}  // namespace tenure

#include "source/memory/memory_source.h"

#include "source/memory/memory_stream.h"
#include "source/stream_url.h"

namespace tenure::source::memory {
namespace {

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::shared_ptr<MemoryStream> stream) : stream_(std::move(stream)) { stream_->watch(signal_); }
  ~MemorySource() override { stream_->forget(signal_); }

  Result<std::vector<Bytes>> partitions() override {
    if (const Result<Ends> there = stream_->ends(); !there) return Failure(there.error());
    return std::vector<Bytes>{"0"};
  }
  Result<Ends> ends(BytesView partition) override {
    if (const Status known = check_only_partition(partition); !known) return Failure(known.error());
    return stream_->ends();
  }
  Result<std::uint64_t> find(BytesView partition, const StartAt& at) override {
    if (const Status known = check_only_partition(partition); !known) return Failure(known.error());
    return stream_->find_start(at);
  }

  Status open(BytesView partition, std::uint64_t after, std::vector<Mark> marks) override {
    if (Status known = check_only_partition(partition); !known) return known;
    reader_ = {.after = after, .marks = std::move(marks), .life = 0};
    open_ = true;
    return {};
  }
  void close(BytesView /*partition*/) override { open_ = false; }
  Result<Run> read(BytesView partition, const ReadLimits& limits) override {
    if (const Status known = check_only_partition(partition); !known) return Failure(known.error());
    if (!open_) return fail(Errc::invalid, "read source", "the partition is not open");
    return stream_->read(reader_, limits);
  }
  void wait(Instant until) override {
    if (!open_ || !stream_->has_news(reader_)) signal_.wait(until);
  }
  void wake() override { signal_.raise(); }

 private:
  Signal signal_;
  const std::shared_ptr<MemoryStream> stream_;
  MemoryStream::Reader reader_;
  bool open_ = false;
};

class MemoryWriter final : public StreamWriter {
 public:
  explicit MemoryWriter(std::shared_ptr<MemoryStream> stream) : stream_(std::move(stream)) {}

  Result<std::vector<std::uint64_t>> add(const std::vector<Event>& events) override {
    if (const Status fits = check_added(events); !fits) return Failure(fits.error());
    return stream_->add(events);
  }
  Result<std::uint64_t> trim(std::uint64_t before) override { return stream_->trim(before); }
  Result<StreamInfo> info() override { return stream_->info(); }
  Status set_limits(const StreamLimits& limits) override { return stream_->set_limits(limits); }
  Status remove() override {
    stream_->remove();
    return {};
  }

 private:
  const std::shared_ptr<MemoryStream> stream_;
};

Result<std::shared_ptr<MemoryStream>> stream_of(std::string_view url) {
  const Result<StreamUrl> parts = split_stream_url(url);
  if (!parts) return Failure(parts.error());
  return MemoryStream::find(parts->engine, parts->stream);
}

}  // namespace

Result<std::unique_ptr<Source>> open_source(std::string_view url) {
  Result<std::shared_ptr<MemoryStream>> stream = stream_of(url);
  if (!stream) return Failure(stream.error());
  return std::make_unique<MemorySource>(*std::move(stream));
}

Result<std::unique_ptr<StreamWriter>> open_writer(std::string_view url, bool create) {
  Result<std::shared_ptr<MemoryStream>> stream = stream_of(url);
  if (!stream) return Failure(stream.error());
  if (const Status there = (*stream)->open(create); !there) return Failure(there.error());
  return std::make_unique<MemoryWriter>(*std::move(stream));
}

}  // namespace tenure::source::memory

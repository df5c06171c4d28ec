#include <tenure/stream.hpp>

#include "source/source.h"
#include "source/stream_url.h"

namespace tenure {

struct Stream::Impl {
  std::unique_ptr<source::StreamWriter> writer;
};

Stream::Stream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

static_assert(kStreamAddEventsMax == source::kAddEventsMax && kStreamAddBytesMax == source::kAddBytesMax);

Result<Stream> Stream::open(std::string_view engine, std::string_view name, const StreamOptions& options) {
  if (name.empty()) return fail(Errc::invalid, "open stream", "the name is empty");
  auto writer = source::open_stream_writer(source::with_stream(engine, name), options.create);
  if (!writer) return Failure(writer.error());
  return Stream(std::make_unique<Impl>(Impl{*std::move(writer)}));
}

Result<std::uint64_t> Stream::add(const StreamEvent& event) {
  const Result<std::vector<std::uint64_t>> positions = add_all({event});
  if (!positions) return Failure(positions.error());
  return positions->front();
}

Result<std::vector<std::uint64_t>> Stream::add_all(const std::vector<StreamEvent>& events) {
  std::vector<source::Event> added;
  added.reserve(events.size());
  for (const StreamEvent& event : events) {
    source::Event& next = added.emplace_back();
    next.key = event.key;
    next.name = event.name;
    next.topic = event.topic;
    next.payload = event.payload;
  }
  return impl_->writer->add(added);
}

Result<std::uint64_t> Stream::trim(std::uint64_t before) { return impl_->writer->trim(before); }

Result<StreamState> Stream::state() {
  const Result<source::StreamInfo> info = impl_->writer->info();
  if (!info) return Failure(info.error());
  StreamState state{.events = info->events,
                    .first = info->ends.first,
                    .last = info->ends.last,
                    .bytes = info->bytes,
                    .partitions = info->partitions};
  const bool drops = info->limits.at_bound == source::StreamLimits::AtBound::drop_oldest;
  state.bound = {info->limits.events_max, drops ? StreamBound::Policy::drop_oldest : StreamBound::Policy::refuse};
  return state;
}

Status Stream::set_bound(const StreamBound& bound) {
  const bool drops = bound.policy == StreamBound::Policy::drop_oldest;
  return impl_->writer->set_limits(
      {bound.events_max, drops ? source::StreamLimits::AtBound::drop_oldest : source::StreamLimits::AtBound::refuse});
}

Status Stream::remove() { return impl_->writer->remove(); }

}  // namespace tenure

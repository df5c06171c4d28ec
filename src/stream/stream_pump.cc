#include "stream/stream_pump.h"

#include <algorithm>
#include <utility>

#include "source/stream_url.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kWait = 1s;
constexpr Nanos kLookForPartitions = 10s;
constexpr source::ReadLimits kReadLimits{.events = 256, .bytes = 1U << 20};

source::StartAt start_of(const StreamStart& start) {
  source::StartAt at{.position = start.position, .time_ms = start.time_ms};
  switch (start.at) {
    case StreamStart::At::newest: at.kind = source::StartAt::Kind::newest; break;
    case StreamStart::At::oldest: at.kind = source::StartAt::Kind::oldest; break;
    case StreamStart::At::position: at.kind = source::StartAt::Kind::position; break;
    case StreamStart::At::time: at.kind = source::StartAt::Kind::time; break;
  }
  return at;
}

}  // namespace

Result<std::unique_ptr<StreamPump>> StreamPump::open(std::string_view engine, const std::string& stream,
                                                     const StreamReaderOptions& options, const TopicFilter& filter,
                                                     ItemQueue& queue) {
  auto source = source::open_source(source::with_stream(engine, stream));
  if (!source) return Failure(source.error());
  const Result<std::vector<Bytes>> names = (*source)->partitions();
  if (!names) return Failure(names.error());
  std::unique_ptr<StreamPump> pump(new StreamPump(stream, *std::move(source), filter, queue));
  for (const Bytes& name : *names) {
    const auto known = std::find_if(options.resume.begin(), options.resume.end(), [&](const StreamPosition& position) {
      return position.stream == stream && position.partition == name;
    });
    StreamPosition at{.stream = stream, .partition = name};
    if (known != options.resume.end()) {
      at = *known;
    } else {
      const Result<std::uint64_t> after = pump->source_->find(name, start_of(options.start));
      if (!after) return Failure(after.error());
      at.position = *after;
    }
    pump->partitions_.push_back({std::move(at)});
  }
  return pump;
}

StreamPump::~StreamPump() {
  source_->wake();
  if (thread_.joinable()) thread_.join();
}

std::vector<StreamPosition> StreamPump::begins() const {
  std::vector<StreamPosition> all;
  for (const Partition& partition : partitions_) all.push_back(partition.at);
  return all;
}

void StreamPump::start() {
  looked_at_ = clock_.now();
  thread_ = std::thread([this] { serve(); });
}

void StreamPump::serve() {
  while (!queue_.stopped()) {
    bool any = false;
    for (Partition& partition : partitions_) any |= read(partition);
    if (any) continue;
    if (clock_.now() - looked_at_ >= kLookForPartitions) find_partitions();
    source_->wait(clock_.now() + kWait);
  }
}

// Partitions that were added later are read from their oldest event.
void StreamPump::find_partitions() {
  looked_at_ = clock_.now();
  const Result<std::vector<Bytes>> names = source_->partitions();
  if (!names) return;
  for (const Bytes& name : *names) {
    const bool known = std::any_of(partitions_.begin(), partitions_.end(),
                                   [&](const Partition& partition) { return partition.at.partition == name; });
    if (known) continue;
    const Result<std::uint64_t> after = source_->find(name, {});
    if (after) partitions_.push_back({{.stream = stream_, .partition = name, .position = *after}});
  }
}

// True if there may be more at once.
bool StreamPump::read(Partition& partition) {
  StreamPosition& at = partition.at;
  if (!partition.open) {
    std::vector<source::Mark> marks;
    if (at.proof != 0) marks.push_back({at.position, at.proof});
    const Status opened = source_->open(at.partition, at.position, std::move(marks));
    if (!opened) return queue_.set_trouble(stream_, opened.error()), false;
    partition.open = true;
  }
  Result<source::Run> run = source_->read(at.partition, kReadLimits);
  queue_.set_trouble(stream_, run ? std::nullopt : std::optional(run.error()));
  return run && hand_over(partition, *std::move(run));
}

bool StreamPump::hand_over(Partition& partition, source::Run run) {
  StreamPosition& at = partition.at;
  const std::uint64_t before = at.position;
  bool any = false;
  if (run.change != source::Change::none) {
    at.position = run.resumed;
    at.proof = 0;
    const bool anew = run.change == source::Change::anew;
    any = true;
    queue_.put({StreamChange{stream_, at.partition, anew, run.resumed}, at});
  }
  if (run.lost) {
    any = true;
    const source::Loss& lost = *run.lost;
    if (lost.last > at.position && (run.events.empty() || lost.last < run.events.front().position)) {
      at.position = lost.last;
      at.proof = 0;
    }
    queue_.put({StreamLoss{stream_, at.partition, lost.first, lost.last, lost.count}, at});
  }
  std::uint64_t told = at.position;
  for (source::Event& event : run.events) {
    any = true;
    at.position = event.position;
    at.proof = source::mark_of(event).hash;
    if (!filter_.takes(event.topic)) continue;
    told = at.position;
    StreamEvent shown{.name = std::move(event.name),
                      .topic = std::move(event.topic),
                      .key = std::move(event.key),
                      .payload = std::move(event.payload),
                      .position = event.position,
                      .time_ms = event.time_ms,
                      .stream = stream_,
                      .partition = at.partition};
    if (!queue_.put({std::move(shown), at})) return false;
  }
  if (run.position > at.position) {
    at.position = run.position;
    at.proof = 0;
  }
  if (at.position != told && at.position != before) any |= queue_.put({std::nullopt, at});
  return any;
}

}  // namespace tenure

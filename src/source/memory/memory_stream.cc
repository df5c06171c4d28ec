#include "source/memory/memory_stream.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "source/continuity.h"

namespace tenure::source::memory {
namespace {

// A stream that nobody trims fills up here, before it exhausts the process's memory.
constexpr std::size_t kStreamBytesMax = std::size_t{1} << 30;
constexpr std::size_t kEventOverhead = 128;

std::size_t cost_of(const Event& event) { return event.bytes() + kEventOverhead; }

class StreamRegistry {
 public:
  static StreamRegistry& instance() {
    static StreamRegistry* const registry = new StreamRegistry;  // never destroyed: handles may outlive statics
    return *registry;
  }

  std::shared_ptr<MemoryStream> find(std::string_view name, BytesView stream) {
    const std::lock_guard lock(mutex_);
    std::erase_if(streams_, [](const auto& named) { return named.second.expired(); });
    std::weak_ptr<MemoryStream>& known = streams_[{std::string(name), Bytes(stream)}];
    std::shared_ptr<MemoryStream> found = known.lock();
    if (!found) known = found = std::make_shared<MemoryStream>();
    return found;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, Bytes>, std::weak_ptr<MemoryStream>> streams_;  // guarded by mutex_
};

}  // namespace

std::shared_ptr<MemoryStream> MemoryStream::find(std::string_view name, BytesView stream) {
  return StreamRegistry::instance().find(name, stream);
}

Status MemoryStream::open(bool create) {
  const std::lock_guard lock(mutex_);
  if (!is_there() && create) {
    ++life_;
    changed();
  }
  return check();
}

void MemoryStream::remove() {
  const std::lock_guard lock(mutex_);
  if (!is_there()) return;
  ++life_;
  events_.clear();
  first_ = 1;
  bytes_ = 0;
  limits_ = {};
  changed();
}

Result<std::vector<std::uint64_t>> MemoryStream::add(const std::vector<Event>& events) {
  const std::lock_guard lock(mutex_);
  if (const Status there = check(); !there) return Failure(there.error());
  std::size_t bytes = bytes_;
  for (const Event& event : events) bytes += cost_of(event);
  if (bytes > kStreamBytesMax) return fail(Errc::full, "memory stream", "the stream has 1 GiB: trim it, or bound it");
  const bool refuses = limits_.events_max != 0 && limits_.at_bound == StreamLimits::AtBound::refuse;
  if (refuses && events_.size() + events.size() > limits_.events_max) {
    return fail(Errc::pool_full, "memory stream",
                "the stream is at its bound of " + std::to_string(limits_.events_max) + " events: trim it");
  }
  bytes_ = bytes;
  const std::int64_t now_ms = BootClock().wall_ms();
  std::vector<std::uint64_t> positions;
  for (const Event& event : events) {
    Event& kept = events_.emplace_back(event);
    kept.position = last();
    kept.time_ms = now_ms;
    positions.push_back(kept.position);
  }
  while (limits_.events_max != 0 && events_.size() > limits_.events_max) drop_front();
  changed();
  return positions;
}

void MemoryStream::drop_front() {
  bytes_ -= cost_of(events_.front());
  events_.pop_front();
  ++first_;
}

Result<std::uint64_t> MemoryStream::trim(std::uint64_t before) {
  const std::lock_guard lock(mutex_);
  if (const Status there = check(); !there) return Failure(there.error());
  std::uint64_t dropped = 0;
  for (; first_ < before && !events_.empty(); ++dropped) drop_front();
  changed();
  return dropped;
}

Result<StreamInfo> MemoryStream::info() const {
  const std::lock_guard lock(mutex_);
  if (const Status there = check(); !there) return Failure(there.error());
  return StreamInfo{
      .events = events_.size(), .ends = {first_, last()}, .bytes = bytes_, .partitions = 1, .limits = limits_};
}

Status MemoryStream::set_limits(const StreamLimits& limits) {
  const std::lock_guard lock(mutex_);
  if (Status there = check(); !there) return there;
  limits_ = limits;
  const bool drops = limits.events_max != 0 && limits.at_bound == StreamLimits::AtBound::drop_oldest;
  while (drops && events_.size() > limits.events_max) drop_front();
  changed();
  return {};
}

Result<Ends> MemoryStream::ends() const {
  const std::lock_guard lock(mutex_);
  if (const Status there = check(); !there) return Failure(there.error());
  return Ends{first_, last()};
}

Result<std::uint64_t> MemoryStream::find_start(const StartAt& at) const {
  const std::lock_guard lock(mutex_);
  if (const Status there = check(); !there) return Failure(there.error());
  if (const auto known = start_behind(at, {.first = first_, .last = last()})) return *known;
  const auto found =
      std::find_if(events_.begin(), events_.end(), [&](const Event& event) { return event.time_ms >= at.time_ms; });
  return found == events_.end() ? last() : found->position - 1;
}

Result<Run> MemoryStream::read(Reader& reader, const ReadLimits& limits) const {
  const std::lock_guard lock(mutex_);
  if (const Status there = check(); !there) return Failure(there.error());
  Run run = resume(reader);
  if (reader.after + 1 < first_) {
    run.lost = Loss{reader.after + 1, first_ - 1, first_ - 1 - reader.after};
    run.position = reader.after = first_ - 1;
  }
  std::size_t bytes = 0;
  for (; reader.after < last() && run.events.size() < limits.events; ++reader.after) {
    const Event& event = events_[reader.after + 1 - first_];
    bytes += event.bytes();
    if (!run.events.empty() && bytes > limits.bytes) break;
    run.events.push_back(event);
    run.position = event.position;
  }
  return run;
}

// Moves the reader to the stream that is there now.
Run MemoryStream::resume(Reader& reader) const {
  Run run;
  const std::vector<Mark> marks = std::exchange(reader.marks, {});
  if (reader.life != 0 && reader.life != life_) {
    run.change = Change::anew;
    run.resumed = reader.after = first_ - 1;
  } else if (reader.life == 0) {
    std::vector<CheckedMark> checked;
    for (const Mark& mark : marks) {
      CheckedMark::Now now = CheckedMark::Now::gone;
      if (mark.position > last()) now = CheckedMark::Now::other;
      if (mark.position >= first_ && mark.position <= last()) {
        const bool same = mark_of(events_[mark.position - first_]) == mark;
        now = same ? CheckedMark::Now::same : CheckedMark::Now::other;
      }
      checked.push_back({mark, now});
    }
    const Continuity judged = judge_marks(reader.after, checked, {first_, last()});
    run.change = judged.change;
    if (judged.change != Change::none) run.resumed = reader.after = judged.resumed;
  }
  reader.life = life_;
  return run;
}

bool MemoryStream::has_news(const Reader& reader) const {
  const std::lock_guard lock(mutex_);
  return is_there() && (reader.life != life_ || reader.after < last());
}

void MemoryStream::watch(Signal& signal) {
  const std::lock_guard lock(mutex_);
  signals_.insert(&signal);
}

void MemoryStream::forget(Signal& signal) {
  const std::lock_guard lock(mutex_);
  signals_.erase(&signal);
}

Status MemoryStream::check() const {
  if (is_there()) return {};
  return fail(Errc::no_such_key, "memory stream", "there is no such stream in this process");
}

void MemoryStream::changed() {
  for (Signal* signal : signals_) signal->raise();
}

}  // namespace tenure::source::memory

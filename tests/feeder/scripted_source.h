#pragma once

// A source for tests: topics in memory, which lose events, grow partitions, are made anew, lose their tails and fail,
// as the test says. Any number of sources read a topic. Positions are dense, from 1 on.

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "source/source.h"

namespace tenure::test {

// Thread-safe.
class ScriptedTopic {
 public:
  explicit ScriptedTopic(std::size_t partitions) : partitions_(partitions) {}

  std::uint64_t add(std::size_t partition, std::optional<Bytes> key, Bytes payload) {
    const std::lock_guard lock(mutex_);
    Partition& to = partitions_[partition];
    source::Event event;
    event.position = to.first + to.events.size();
    event.time_ms = ++time_ms_;
    event.key = std::move(key);
    event.payload = std::move(payload);
    to.events.push_back(std::move(event));
    wake_all();
    return to.events.back().position;
  }
  // Retention: the events below this position are gone.
  void drop_before(std::size_t partition, std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    Partition& of = partitions_[partition];
    while (of.first < position && !of.events.empty()) {
      of.events.pop_front();
      ++of.first;
    }
    wake_all();
  }
  // The last events are gone; the positions are given out again.
  void cut_behind(std::size_t partition, std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    Partition& of = partitions_[partition];
    while (!of.events.empty() && of.events.back().position > position) of.events.pop_back();
    ++cuts_;
    wake_all();
  }
  void make_anew(std::size_t partition) {
    const std::lock_guard lock(mutex_);
    partitions_[partition] = Partition{};
    ++cuts_;
    wake_all();
  }
  void grow() {
    const std::lock_guard lock(mutex_);
    partitions_.emplace_back();
  }
  // What reading and looking for partitions fail with, until it is cleared.
  void fail_with(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    wake_all();
  }

 private:
  friend class ScriptedSource;
  struct Partition {
    std::deque<source::Event> events;
    std::uint64_t first = 1;
  };
  void wake_all() {
    for (source::Source* reader : readers_) reader->wake();
  }

  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Partition> partitions_;
  std::optional<Error> error_;
  std::set<source::Source*> readers_;
  std::int64_t time_ms_ = 0;
  std::uint64_t cuts_ = 0;
};

class ScriptedSource final : public source::Source {
 public:
  explicit ScriptedSource(std::shared_ptr<ScriptedTopic> topic) : topic_(std::move(topic)) {
    const std::lock_guard lock(topic_->mutex_);
    topic_->readers_.insert(this);
  }
  ~ScriptedSource() override {
    const std::lock_guard lock(topic_->mutex_);
    topic_->readers_.erase(this);
  }

  Result<std::vector<Bytes>> partitions() override {
    const std::lock_guard lock(topic_->mutex_);
    if (topic_->error_) return Failure(*topic_->error_);
    std::vector<Bytes> names;
    for (std::size_t i = 0; i < topic_->partitions_.size(); ++i) names.push_back(std::to_string(i));
    return names;
  }
  Result<source::Ends> ends(BytesView partition) override {
    const std::lock_guard lock(topic_->mutex_);
    if (topic_->error_) return Failure(*topic_->error_);
    const auto& of = at(partition);
    return source::Ends{.first = of.first, .last = of.first + of.events.size() - 1};
  }
  Result<std::uint64_t> find(BytesView partition, const source::StartAt& start) override {
    const std::lock_guard lock(topic_->mutex_);
    const auto& of = at(partition);
    const std::uint64_t end = of.first + of.events.size() - 1;
    switch (start.kind) {
      case source::StartAt::Kind::oldest: return of.first - 1;
      case source::StartAt::Kind::newest: return end;
      case source::StartAt::Kind::position: return start.position - 1;
      case source::StartAt::Kind::time: break;
    }
    return of.first - 1;
  }
  Status open(BytesView partition, std::uint64_t after, std::vector<source::Mark> marks) override {
    const std::lock_guard lock(topic_->mutex_);
    open_[Bytes(partition)] = {.after = after, .marks = std::move(marks), .cuts = 0};
    return {};
  }
  void close(BytesView partition) override { open_.erase(Bytes(partition)); }

  Result<source::Run> read(BytesView partition, const source::ReadLimits& limits) override {
    const std::lock_guard lock(topic_->mutex_);
    if (topic_->error_) return Failure(*topic_->error_);
    Place& place = open_.at(Bytes(partition));
    const auto& of = at(partition);
    source::Run run;
    if (place.cuts != topic_->cuts_ + 1) {
      check_marks(place, of, run);
      place.cuts = topic_->cuts_ + 1;
    }
    if (place.after + 1 < of.first) {
      run.lost = source::Loss{place.after + 1, of.first - 1, of.first - 1 - place.after};
      run.position = place.after = of.first - 1;
    }
    std::size_t bytes = 0;
    while (run.events.size() < limits.events && place.after + 1 < of.first + of.events.size()) {
      const source::Event& event = of.events[place.after + 1 - of.first];
      bytes += event.bytes();
      if (!run.events.empty() && bytes > limits.bytes) break;
      run.events.push_back(event);
      run.position = place.after = event.position;
    }
    if (!run.events.empty()) remember(place, run.events.back());
    return run;
  }
  void wait(Instant until) override {
    std::unique_lock lock(mutex_);
    const Nanos left = until - BootClock().now();
    if (left > Nanos(0)) woken_.wait_for(lock, left, [this] { return raised_; });
    raised_ = false;
  }
  void wake() override {
    const std::lock_guard lock(mutex_);
    raised_ = true;
    woken_.notify_all();
  }

 private:
  struct Place {
    std::uint64_t after = 0;
    std::vector<source::Mark> marks;
    std::uint64_t cuts = 0;  // plus one: as of which change the marks were checked
  };

  const ScriptedTopic::Partition& at(BytesView partition) const {
    return topic_->partitions_[std::stoul(Bytes(partition))];
  }
  static void remember(Place& place, const source::Event& event) {
    constexpr std::size_t kKept = 64;
    place.marks.push_back(source::mark_of(event));
    if (place.marks.size() > kKept) place.marks.erase(place.marks.begin());
  }
  // As the port has it: by content, from the newest mark back.
  static void check_marks(Place& place, const ScriptedTopic::Partition& of, source::Run& run) {
    const auto holds = [&](const source::Mark& mark) {
      if (mark.position < of.first) return true;  // nothing can be said of it
      const std::uint64_t index = mark.position - of.first;
      return index < of.events.size() && source::mark_of(of.events[index]) == mark;
    };
    const std::size_t before = place.marks.size();
    while (!place.marks.empty() && !holds(place.marks.back())) place.marks.pop_back();
    const std::uint64_t end = of.first + of.events.size() - 1;
    if (place.marks.size() == before && place.after <= end) return;
    run.change = place.marks.empty() ? source::Change::anew : source::Change::cut;
    place.after = place.marks.empty() ? of.first - 1 : place.marks.back().position;
    run.resumed = place.after;
    run.position = place.after;
    if (!place.marks.empty()) run.anchor = place.marks.back();
  }

  const std::shared_ptr<ScriptedTopic> topic_;
  std::map<Bytes, Place> open_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool raised_ = false;  // guarded by mutex_
};

}  // namespace tenure::test

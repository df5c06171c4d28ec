#pragma once

// A loop that runs, and a log that answers, only when told to, for tests that must stop the protocol at a certain step.

#include <deque>
#include <map>

#include "base/loop.h"
#include "log/log.h"

namespace tenure {

class ManualLoop final : public Loop, public Clock {
 public:
  void post(std::function<void()> work) override { queue_.push_back(std::move(work)); }
  void run_or_post(std::function<void()> work) override {
    post(std::move(work));
    if (guests) settle();
  }
  TimerId at(Instant when, std::function<void()> work) override {
    timers_[{when, ++last_}] = std::move(work);
    return last_;
  }
  void cancel(TimerId timer) override {
    std::erase_if(timers_, [timer](const auto& entry) { return entry.first.second == timer; });
  }
  Instant now() const override { return now_; }
  std::int64_t wall_ms() const override { return 0; }

  // Runs what is posted, and what that posts.
  void settle() {
    while (!queue_.empty()) {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
  }
  // Lets time pass in the midst of something: no timer fires, and nothing that was posted runs.
  void pass(Nanos by) { now_ = now_ + by; }
  // Lets time pass, timer by timer.
  void advance(Nanos by) {
    const Instant end = now_ + by;
    settle();
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      now_ = std::max(now_, timers_.begin()->first.first);
      const auto timer = timers_.extract(timers_.begin());
      timer.mapped()();
      settle();
    }
    now_ = end;
  }
  // Lets time pass in which nothing runs, as if the process were frozen.
  void freeze(Nanos by) { now_ = now_ + by; }

  bool guests = false;  // run_or_post() finds the loop idle

 private:
  Instant now_{std::chrono::hours(1)};
  std::deque<std::function<void()>> queue_;
  std::map<std::pair<Instant, TimerId>, std::function<void()>> timers_;
  TimerId last_ = 0;
};

class ManualLog final : public Log {
 public:
  struct Append {
    Lane lane;
    Bytes data;
    AppendDone done;
  };
  struct Read {
    Cursor after;
    ReadDone done;
  };
  using LoadDone = std::function<void(Result<Snapshot>)>;
  // Not yet answered.
  std::deque<Append> appends;
  std::deque<Read> reads;
  std::deque<LoadDone> loads;

  // Answers the oldest append.
  void answer(Result<Position> result) {
    Append oldest = std::move(appends.front());
    appends.pop_front();
    oldest.done(std::move(result));
  }

  void answer_read(Result<std::vector<Entry>> result) {
    const Read oldest = std::move(reads.front());
    reads.pop_front();
    oldest.done(std::move(result));
  }
  void answer_load(Result<Snapshot> result) {
    const LoadDone oldest = std::move(loads.front());
    loads.pop_front();
    oldest(std::move(result));
  }

  // A snapshot that is never stored.
  class Unstored final : public SnapshotWriter {
   public:
    explicit Unstored(int& committed) : committed_(committed) {}
    void add(Bytes /*chunk*/) override {}
    void commit(std::function<void(Status)> /*done*/) override { ++committed_; }

   private:
    int& committed_;
  };
  SnapshotSeen snapshot_seen;
  IfGone if_gone_last = IfGone::create;
  int snapshots_begun = 0;
  int snapshots_committed = 0;

  void append(Lane lane, Bytes data, AppendDone done) override {
    appends.push_back({lane, std::move(data), std::move(done)});
  }
  void read(Cursor after, ReadDone done) override { reads.push_back({after, std::move(done)}); }
  void load_snapshot(IfGone if_gone, LoadDone done) override {
    if_gone_last = if_gone;
    loads.push_back(std::move(done));
  }
  std::unique_ptr<SnapshotWriter> begin_snapshot(Cursor /*at*/) override {
    ++snapshots_begun;
    return std::make_unique<Unstored>(snapshots_committed);
  }
  void watch_snapshot(SnapshotSeen seen) override { snapshot_seen = std::move(seen); }
  void trim(Position /*before*/, std::function<void(Status)> /*done*/) override {}
  void remove(std::function<void(Status)> /*done*/) override {}
  void close() override {}
};

}  // namespace tenure

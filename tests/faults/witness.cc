// Follows the log of a pool from its first entry, and records it, so that the judge can compare it with what the
// handlers did (testimony.h). Ends at the end of its input.
//
//   faults_witness ENGINE POOL HISTORY SHARD SHARDS
//
// A pool with several logs has a witness for each.
//
// A log can lose its tail after a worker has read it and before the witness has. So the test that removes the tail
// holds the witness first, and lets it read a copy of the old log. Each line of its input is answered with `at
// POSITION`, the position that it has read:
//
//   where
//   hold          reads nothing from here on
//   aside ENGINE  continues in this log, to its end
//   go

#include <cstdio>
#include <future>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "faults/testimony.h"
#include "faults/wall_drift.h"
#include "log/blocking.h"
#include "log/engines.h"

namespace tenure::faults {
namespace {

// An engine's time, on a clock that keeps pace with CLOCK_BOOTTIME. The engines of one host use such a clock; servers
// use the wall clock.
class EngineClock {
 public:
  explicit EngineClock(std::string_view engine) : wall_(reach_of(engine) == Reach::network) {
    look();
    thread_ = std::jthread([this](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(kLookEvery)) look();
    });
  }

  std::int64_t steady_ns(std::int64_t time_ms) const {
    const std::int64_t time_ns = time_ms * 1'000'000;
    return wall_ ? drift_.steady_ns(time_ns) : time_ns;
  }

 private:
  static constexpr std::chrono::milliseconds kLookEvery{10};

  // Where this thread was held up between the clocks it has seen nothing.
  void look() {
    constexpr std::chrono::microseconds kAtOnce(50);
    const Instant before = BootClock().now();
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    const Instant after = BootClock().now();
    if (after - before > kAtOnce) return;
    drift_.look(std::chrono::nanoseconds(wall).count(), (before + (after - before) / 2).since_boot.count());
  }

  const bool wall_;
  WallDrift drift_;
  std::jthread thread_;  // last: it uses all of the above
};

// Reads on and on, until the log is closed or cannot be followed. What was lost is found by reading what there is.
class Follower {
 public:
  Follower(Log& log, const EngineClock& clock) : log_(log), clock_(clock) { read({}); }

  // What was seen, or why it is not the whole log.
  Result<const Testimony*> finish() {
    const std::lock_guard lock(mutex_);
    if (failure_) return Failure(*failure_);
    testimony_.lose_after(read_.position);
    return &testimony_;
  }

  Result<Position> where() {
    const std::lock_guard lock(mutex_);
    if (failure_) return Failure(*failure_);
    return testimony_.last().position;
  }

  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }

  // Held, and so alone with the testimony.
  Status read_aside(const std::string& engine, const LogOptions& options) {
    const Result<std::unique_ptr<Log>> log = open_log(engine, options);
    if (!log) return Failure(log.error());
    const Result<Position> end = append_and_wait(**log, "the end");
    if (!end) return Failure(end.error());
    for (;;) {
      const Result<std::vector<Entry>> entries = read_and_wait(**log, testimony_.last());
      if (!entries) return Failure(entries.error());
      for (const Entry& entry : *entries) {
        if (entry.position == *end) return {};
        testimony_.take(testimony_.last().position, entry, clock_.steady_ns(entry.time_ms), BootClock().now());
      }
    }
  }

  void go() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    if (std::optional<Result<std::vector<Entry>>> waiting = std::exchange(waiting_, std::nullopt)) {
      take(*waiting, BootClock().now());
    }
  }

 private:
  void read(const Cursor& after) {
    read_ = after;
    log_.read(after, [this](Result<std::vector<Entry>> entries) {
      const Instant now = BootClock().now();
      const std::lock_guard lock(mutex_);
      if (held_) {
        waiting_ = std::move(entries);
      } else {
        take(entries, now);
      }
    });
  }

  void take(const Result<std::vector<Entry>>& entries, Instant now) {
    if (!entries && entries.error().code == Errc::unavailable) return read(read_);
    if (!entries && entries.error().code == Errc::lost_history) return load();
    if (!entries) {
      failure_ = entries.error();
      return;
    }
    Position before = read_.position;
    for (const Entry& entry : *entries) {
      testimony_.take(before, entry, clock_.steady_ns(entry.time_ms), now);
      before = entry.position;
    }
    read(Cursor::at(entries->back()));
  }

  void load() {
    log_.load_snapshot([this](const Result<Snapshot>& snapshot) {
      const std::lock_guard lock(mutex_);
      if (!snapshot && snapshot.error().code == Errc::unavailable) return load();
      if (!snapshot) {
        failure_ = snapshot.error();
      } else if (!testimony_.knows(snapshot->cursor)) {
        failure_ = Error{Errc::corrupt, "load snapshot", "it stands on an entry that was never seen"};
      } else {
        read(snapshot->cursor);
      }
    });
  }

  Log& log_;
  const EngineClock& clock_;
  std::mutex mutex_;  // everything below
  Testimony testimony_;
  Cursor read_;  // where the outstanding read begins
  bool held_ = false;
  std::optional<Result<std::vector<Entry>>> waiting_;  // came while held
  std::optional<Error> failure_;
};

Result<Position> obey(Follower& follower, const std::string& line, const LogOptions& options) {
  constexpr std::string_view kAside = "aside ";
  if (line == "hold") follower.hold();
  if (line == "go") follower.go();
  if (line.starts_with(kAside)) {
    if (const Status seen = follower.read_aside(line.substr(kAside.size()), options); !seen)
      return Failure(seen.error());
  }
  return follower.where();
}

int run(const char* engine, const LogOptions& options, const char* history) {
  const Result<std::unique_ptr<Log>> log = open_log(engine, options);
  if (!log) {
    std::fprintf(stderr, "%s\n", log.error().message().c_str());
    return 1;
  }
  const EngineClock clock(engine);
  Follower follower(**log, clock);
  std::cout << "following" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const Result<Position> at = obey(follower, line, options);
    std::cout << (at ? "at " + std::to_string(*at) : at.error().message()) << std::endl;
  }
  (*log)->close();
  const Result<const Testimony*> testimony = follower.finish();
  if (!testimony) {
    std::fprintf(stderr, "the log could not be followed: %s\n", testimony.error().message().c_str());
    return 1;
  }
  (*testimony)->write(history);
  return 0;
}

}  // namespace
}  // namespace tenure::faults

int main(int count, char** words) {
  if (count != 6) return 64;
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::stoul(words[i])); };
  return tenure::faults::run(words[1], {.pool = words[2], .shard = {number(4), number(5)}}, words[3]);
}

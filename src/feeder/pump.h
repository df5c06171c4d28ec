#pragma once

// The thread that does everything for one source in this process: it owns the Source, and steps the feeders of the
// partitions that this process holds, and the coordinator, if it holds that.
//
//   handler ─ add, remove ─▶ Pump ─ step ─▶ Feed, Coordinator ─ read ─▶ Source
//   emitter ─ answers ─────▶  │                    │
//                             └── wait ─▶ Source   └─ emit ─▶ Emitter
//
// While feeders want events, the pump sleeps in the source's wait(). While all of them wait for the pool, it sleeps on
// a condition variable instead: a source with unread events would wake it all the time.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "feeder/feed.h"
#include "feeder/outside.h"

namespace tenure::feeder {

// The limit on what all feeders of a source buffer in this process.
constexpr std::size_t kPumpBytesMax = 32U << 20;

class Pump {
 public:
  Pump(Spec spec, std::unique_ptr<source::Source> source, Outside& outside);
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;
  // Ends the thread. remove() then returns no checkpoint.
  void end();

  const Spec& spec() const { return spec_; }

  // Any thread. Begins a tenure of a partition's feeder, or of the coordinator if the partition is empty.
  void add(Hold hold, Bytes partition, std::optional<Bytes> checkpoint);
  // Ends a tenure. Waits until nothing of it runs, and returns its checkpoint.
  std::optional<Bytes> remove(std::uint64_t epoch);

 private:
  // Work from other threads. Callbacks share it, so they may run after the pump is gone.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<std::pair<std::uint64_t, std::function<void()>>> posted;  // with the epoch that it is for, or zero
    source::Source* source = nullptr;                                    // null once the pump is gone
    bool ending = false;
  };

  // False if the pump has ended.
  static bool post(Inbox& inbox, std::uint64_t epoch, std::function<void()> what);
  void run();
  bool work_off();
  bool step_all(Instant now);
  void look_at_an_end(Instant now);
  void sleep(Instant now);
  void wait_here(Instant until);

  const Spec spec_;
  const std::unique_ptr<source::Source> source_;
  Outside& outside_;
  const BootClock clock_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  // Owned by the thread.
  std::map<std::uint64_t, std::unique_ptr<Duty>> duties_;  // by epoch
  std::uint64_t first_ = 0;                                // the duty that the next turn starts with
  std::uint64_t looked_at_ = 0;                            // the duty whose end was looked up last
  Instant look_at_{};
  int idle_wakes_ = 0;  // how often in a row the source woke the thread at once, and nothing came of it
  std::thread thread_;
};

}  // namespace tenure::feeder

#pragma once

// A thread of a simulated process, as a tenure::Loop. Posts run in order, timers in order of their time. Which of the
// two comes first is random, as it is between threads and condition variables. One piece of work is one event: between
// two events other loops run, and the process may be paused or crash.

#include <functional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "sim/world/world.h"

namespace tenure::sim {

// How long a thread takes to notice a post and to do a piece of work.
struct LoopSpeed {
  Time wake_min = 2 * kMicro;
  Time wake_max = 200 * kMicro;
  Time work_min = 1 * kMicro;
  Time work_max = 50 * kMicro;
};

class SimLoop final : public Loop {
 public:
  SimLoop(World& world, Process& process, std::uint32_t number, std::string name, LoopSpeed speed);

  void post(std::function<void()> work) override;
  TimerId at(Instant when, std::function<void()> work) override;
  void cancel(TimerId timer) override;
  Instant now() const override;

  const std::string& name() const { return name_; }
  // Nothing runs before this true time: a stalled thread, while the others of its process continue.
  void stall_until(Time until);
  void unstall();

 private:
  friend class World;
  friend class Process;

  struct Posted {
    Time ready;
    std::function<void()> work;
  };
  struct Armed {
    Instant when;
    TimerId id;
    std::function<void()> work;
  };
  static constexpr Time kNever = INT64_MAX;

  void wake(std::uint32_t number);
  void plan();
  void run_one(bool posted_ready, bool timer_due);
  void drop_all();
  std::size_t earliest() const;
  bool has_posted() const { return head_ < posted_.size(); }
  std::function<void()> take_posted();
  std::function<void()> take_timer(std::size_t index);

  World& world_;
  Process& process_;
  const std::string name_;
  LoopSpeed speed_;
  Dice dice_;
  std::uint64_t mark_;          // names this loop in the trace
  std::vector<Posted> posted_;  // from head_ on
  std::size_t head_ = 0;
  std::vector<Armed> timers_;  // few, so unsorted
  TimerId last_timer_ = 0;
  Time busy_until_ = 0;
  Time planned_ = kNever;
  std::uint32_t wakes_ = 0;
};

}  // namespace tenure::sim

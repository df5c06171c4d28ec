#pragma once

// A world: true virtual time, one queue of future events, and the processes in it. Everything runs in the calling
// thread, in the order of true time. Two events at the same time run in the order of their creation. The same seed and
// the same calls give the same run, event for event; `trace()` is a digest of it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/dice.h"

namespace tenure::sim {

class SimClock;
class SimLoop;
class Process;

class World {
 public:
  explicit World(std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Time now() const { return now_; }
  std::uint64_t seed() const { return seed_; }
  Dice fork(std::string_view name) const { return {seed_, name}; }

  // Runs `work` at true time `when` (or now, if that has passed). It belongs to no process: servers, wires, fate.
  void at(Time when, std::function<void()> work);
  void after(Time span, std::function<void()> work) { at(now_ + span, std::move(work)); }

  // Runs everything due up to and including `until`, and leaves the time there.
  void run_until(Time until);
  // Runs until `stop()` says so or the time is over. True if it did.
  bool run_until(Time until, const std::function<bool()>& stop);

  // A new process on the host whose clock is given. It lives as long as the world; crashing it ends its work.
  Process& start_process(std::string name, SimClock& clock);
  const std::vector<std::unique_ptr<Process>>& processes() const { return processes_; }
  // The process whose work is running now, if any.
  Process* running() const { return running_; }

  // Lets a host's CLOCK_BOOTTIME run faster or slower from now on.
  void set_clock_rate(SimClock& clock, std::int64_t ppm);

  void trace(std::uint64_t word) { trace_ = hash_mix(trace_, word); }
  std::uint64_t trace() const { return trace_; }
  std::uint64_t events() const { return events_; }

 private:
  friend class SimLoop;

  struct Due {
    Time at;
    std::uint64_t order;
    SimLoop* loop;       // a loop to wake, or null for the work in `slot`
    std::uint32_t slot;  // for a loop: the number of the wake, so that outdated ones are known
    // The heap keeps the largest on top, so the earliest counts as the largest.
    bool operator<(const Due& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  void push(Time at, SimLoop* loop, std::uint32_t slot);
  void step();

  const std::uint64_t seed_;
  Time now_ = 0;
  std::uint64_t orders_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t trace_ = 0;
  std::vector<Due> heap_;
  std::vector<std::function<void()>> slots_;
  std::vector<std::uint32_t> free_;
  Process* running_ = nullptr;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace tenure::sim

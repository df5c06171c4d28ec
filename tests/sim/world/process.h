#pragma once

// A simulated process: some loops, the clock of its host, and a body (the node, its log, its handlers) that dies with
// it. It can be paused, as by SIGSTOP or a frozen virtual machine, and it can crash at any step, even in the middle of
// a piece of work.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/sim_loop.h"
#include "sim/world/world.h"

namespace tenure::sim {

// After a resume each loop starts within this span, in an order left to chance.
constexpr Time kResumeSkewMax = 1 * kMilli;

class Process {
 public:
  Process(World& world, std::uint32_t number, std::string name, SimClock& clock);

  World& world() { return world_; }
  SimClock& clock() const { return clock_; }
  std::uint32_t number() const { return number_; }
  const std::string& name() const { return name_; }

  SimLoop& add_loop(const std::string& name, LoopSpeed speed = {});
  const std::vector<std::unique_ptr<SimLoop>>& loops() const { return loops_; }

  // Kept until the process is gone; destroyed in reverse order of being handed over.
  void own(std::shared_ptr<void> part) { body_.push_back(std::move(part)); }

  bool alive() const { return alive_; }
  bool paused() const { return paused_; }
  bool running() const { return alive_ && !paused_; }

  // Nothing of it runs from here on: not even the rest of the present work, whose effects on the world are ignored
  // because everything that leaves a process asks alive() first. The body is destroyed once that work has returned.
  void crash();
  void pause();
  void resume();
  // Stops one loop for a while. The others continue.
  void stall(SimLoop& loop, Time span);

  // Crashes it around one of the next few things that leave it: just before or just after.
  void doom();
  // Called around whatever leaves the process. False: it died before that.
  bool leaving();
  void left();

  std::function<void()> on_crash;  // called at the moment of death
  std::uint64_t culprit = 0;       // the tenure whose handler brings it down, if one does

 private:
  friend class World;

  void replan();
  void reap();

  World& world_;
  const std::uint32_t number_;
  const std::string name_;
  SimClock& clock_;
  Dice dice_;
  bool alive_ = true;
  int doomed_in_ = 0;  // zero: not doomed
  bool doomed_after_ = false;
  bool paused_ = false;
  std::vector<std::unique_ptr<SimLoop>> loops_;
  std::vector<std::shared_ptr<void>> body_;
};

}  // namespace tenure::sim

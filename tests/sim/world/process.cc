#include "sim/world/process.h"

#include <utility>

namespace tenure::sim {

Process::Process(World& world, std::uint32_t number, std::string name, SimClock& clock)
    : world_(world),
      number_(number),
      name_(std::move(name) + "#" + std::to_string(number)),
      clock_(clock),
      dice_(world.fork(name_)) {}

SimLoop& Process::add_loop(const std::string& name, LoopSpeed speed) {
  const auto number = static_cast<std::uint32_t>(loops_.size());
  loops_.push_back(std::make_unique<SimLoop>(world_, *this, number, name, speed));
  return *loops_.back();
}

void Process::crash() {
  if (!alive_) return;
  alive_ = false;
  if (on_crash) std::exchange(on_crash, nullptr)();
  if (world_.running() == this) {
    world_.at(world_.now(), [this] { reap(); });
  } else {
    reap();
  }
}

void Process::reap() {
  for (const auto& loop : loops_) loop->drop_all();
  while (!body_.empty()) {
    const auto part = std::move(body_.back());
    body_.pop_back();
  }
}

void Process::pause() {
  if (alive_) paused_ = true;
}

void Process::resume() {
  if (!running() && alive_) {
    paused_ = false;
    for (const auto& loop : loops_) loop->stall_until(world_.now() + dice_.tailed(0, kResumeSkewMax));
    replan();
  }
}

void Process::stall(SimLoop& loop, Time span) { loop.stall_until(world_.now() + span); }

void Process::doom() {
  doomed_in_ = static_cast<int>(dice_.between(1, 8));
  doomed_after_ = dice_.chance(0.5);
}

bool Process::leaving() {
  if (doomed_in_ > 0 && --doomed_in_ == 0) {
    if (!doomed_after_) crash();
    if (doomed_after_) doomed_in_ = -1;
  }
  return alive_;
}

void Process::left() {
  if (doomed_in_ == -1) crash();
}

void Process::replan() {
  for (const auto& loop : loops_) {
    loop->planned_ = SimLoop::kNever;
    loop->plan();
  }
}

}  // namespace tenure::sim

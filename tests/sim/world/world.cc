#include "sim/world/world.h"

#include <algorithm>

#include "base/assert.h"
#include "sim/world/process.h"
#include "sim/world/sim_clock.h"
#include "sim/world/sim_loop.h"

namespace tenure::sim {

World::World(std::uint64_t seed) : seed_(seed), trace_(seed) { heap_.reserve(1024); }

World::~World() {
  // Bodies first, while all loops and slots are still there for their destructors to cancel in.
  for (const auto& process : processes_) process->crash();
  for (const auto& process : processes_) process->reap();
}

void World::at(Time when, std::function<void()> work) {
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::move(work));
  } else {
    slot = free_.back();
    free_.pop_back();
    slots_[slot] = std::move(work);
  }
  push(std::max(when, now_), nullptr, slot);
}

void World::push(Time at, SimLoop* loop, std::uint32_t slot) {
  heap_.push_back({at, ++orders_, loop, slot});
  std::push_heap(heap_.begin(), heap_.end());
}

void World::step() {
  std::pop_heap(heap_.begin(), heap_.end());
  const Due due = heap_.back();
  heap_.pop_back();
  ASSERT(due.at >= now_);
  now_ = due.at;
  ++events_;
  if (due.loop != nullptr) {
    due.loop->wake(due.slot);
    return;
  }
  // Moved out first: the work may push, and so move the slots.
  const std::function<void()> work = std::move(slots_[due.slot]);
  slots_[due.slot] = nullptr;
  free_.push_back(due.slot);
  trace(static_cast<std::uint64_t>(now_));
  work();
}

void World::run_until(Time until) {
  while (!heap_.empty() && heap_.front().at <= until) step();
  now_ = std::max(now_, until);
}

bool World::run_until(Time until, const std::function<bool()>& stop) {
  while (!stop()) {
    if (heap_.empty() || heap_.front().at > until) {
      now_ = std::max(now_, until);
      return false;
    }
    step();
  }
  return true;
}

Process& World::start_process(std::string name, SimClock& clock) {
  const auto number = static_cast<std::uint32_t>(processes_.size());
  processes_.push_back(std::make_unique<Process>(*this, number, std::move(name), clock));
  return *processes_.back();
}

void World::set_clock_rate(SimClock& clock, std::int64_t ppm) {
  clock.set_rate(ppm);
  for (const auto& process : processes_) {
    if (&process->clock() == &clock) process->replan();
  }
}

}  // namespace tenure::sim

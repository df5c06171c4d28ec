#pragma once

// The clocks of one simulated host. CLOCK_BOOTTIME has its own offset and rate, which may change, but it never steps
// and never stops. The wall clock may be set to anything at any time.

#include "base/clock.h"
#include "sim/world/world.h"

namespace tenure::sim {

class SimClock final : public Clock {
 public:
  SimClock(const World& world, Nanos offset, std::int64_t ppm, std::int64_t wall_ms)
      : world_(&world), from_(world.now()), local_(offset.count()), ppm_(ppm), wall_ms_(wall_ms) {}

  Instant now() const override { return at(world_->now()); }
  std::int64_t wall_ms() const override { return wall_ms_ + world_->now() / kMilli; }

  // What the clock shows at a true time, by its present rate.
  Instant at(Time true_time) const {
    const Time passed = true_time - from_;
    return {Nanos(local_ + passed + passed / 1'000'000 * ppm_ + passed % 1'000'000 * ppm_ / 1'000'000)};
  }

  // The first true time at which the clock shows at least `when`. In the past it may be off by what the rate was then.
  Time true_time(Instant when) const {
    const Time ahead = when.since_boot.count() - local_;
    Time guess = from_ + ahead - ahead / (1'000'000 + ppm_) * ppm_;
    while (at(guess) >= when) guess -= 1 + (at(guess) - when).count() / 2;
    while (at(guess) < when) guess += 1 + (when - at(guess)).count() / 2;
    return guess;
  }

  void step_wall(std::int64_t by_ms) { wall_ms_ += by_ms; }

  // Through World::set_clock_rate, which tells the loops that wait by this clock.
  void set_rate(std::int64_t ppm) {
    local_ = now().since_boot.count();
    from_ = world_->now();
    ppm_ = ppm;
  }

 private:
  const World* world_;
  Time from_;  // the clock shows local_ at this true time, and runs at 1 + ppm_ / 10^6 from there on
  Time local_;
  std::int64_t ppm_;
  std::int64_t wall_ms_;  // at the true time zero, as it is set now
};

}  // namespace tenure::sim

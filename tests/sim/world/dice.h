#pragma once

// Random numbers for the simulator. Every part of a run (loops, links, faults, work) has its own dice, derived from the
// run's seed by name, so that a change in one part does not change all the others.

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/entropy.h"

namespace tenure::sim {

// True virtual time in nanoseconds since the run began. No simulated process can read it.
using Time = std::int64_t;

constexpr Time kMicro = 1000;
constexpr Time kMilli = 1000 * kMicro;
constexpr Time kSecond = 1000 * kMilli;

class Dice final : public Entropy {
 public:
  explicit Dice(std::uint64_t seed) : entropy_(seed) {}
  Dice(std::uint64_t seed, std::string_view name) : entropy_(hash_mix(seed, hash_bytes(name))) {}

  std::uint64_t next() override { return entropy_.next(); }

  bool chance(double probability) { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }
  // Uniform in [low, high].
  Time between(Time low, Time high) {
    return high <= low ? low : low + static_cast<Time>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  // Mostly near `low`, now and then near `high`: latencies and costs have long tails.
  Time tailed(Time low, Time high) {
    const std::uint64_t bits = next();
    Time span = high - low;
    if ((bits & 63) != 0) span >>= 3;
    return between(low, low + span);
  }
  // Spread over the orders of magnitude between the two, so that a second is as likely as a millisecond.
  Time magnitude(Time low, Time high) {
    Time top = low;
    while (top < high && chance(0.75)) top *= 2;
    return between(low, top < high ? top : high);
  }

 private:
  SeededEntropy entropy_;
};

}  // namespace tenure::sim

#pragma once

// Randomness comes through this interface, so that the simulator can own it.

#include <cstdint>

namespace tenure {

class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual std::uint64_t next() = 0;

  // Uniform enough for jitter and simulation, but not for secrets. `bound` must be positive.
  std::uint64_t below(std::uint64_t bound);
  // A random identifier, never zero. Zero means "none" everywhere.
  std::uint64_t id();
};

// getrandom(2). Thread-safe.
class SystemEntropy final : public Entropy {
 public:
  std::uint64_t next() override;
};

// SplitMix64: the same seed always gives the same sequence. Not thread-safe.
class SeededEntropy final : public Entropy {
 public:
  explicit SeededEntropy(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

}  // namespace tenure

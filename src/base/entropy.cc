#include "base/entropy.h"

#include <sys/random.h>

#include "base/assert.h"

namespace tenure {

std::uint64_t Entropy::below(std::uint64_t bound) {
  ASSERT(bound > 0);
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

std::uint64_t Entropy::id() {
  std::uint64_t value = next();
  while (value == 0) value = next();
  return value;
}

std::uint64_t SystemEntropy::next() {
  std::uint64_t value = 0;
  ASSERT(getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value));
  return value;
}

std::uint64_t SeededEntropy::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t value = state_;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

}  // namespace tenure

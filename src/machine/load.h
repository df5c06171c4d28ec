#pragma once

// Helpers of all parts for reading a snapshot. A snapshot comes from a disk or a server, so everything is checked.

#include <cstdint>

#include "machine/limits.h"

namespace tenure {

// Counters and times of a valid state can still grow.
constexpr std::uint64_t kCountMax = 1ULL << 62;
constexpr std::int64_t kTimeMsMax = 1LL << 60;

inline bool is_time(std::int64_t ms) { return ms >= 0 && ms <= kTimeMsMax; }
inline bool is_span(std::int64_t ms) { return ms > 0 && ms <= static_cast<std::int64_t>(kDelayMsMax); }

// Numbers are stored plus one, so that zero means none.
constexpr std::uint32_t to_stored(std::uint32_t id) { return id + 1; }
constexpr std::uint32_t from_stored(std::uint32_t stored) { return stored - 1; }

template <class Enum>
bool load_enum(std::uint32_t from, Enum last, Enum& into) {
  if (from > static_cast<std::uint32_t>(last)) return false;
  into = static_cast<Enum>(from);
  return true;
}

}  // namespace tenure

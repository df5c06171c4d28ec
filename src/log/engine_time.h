#pragma once

// The time that an engine on this host gives to entries: CLOCK_BOOTTIME plus an offset. It is close to the wall clock
// but never goes back. The wall clock is read once per boot, when the offset is chosen; later steps of it have no
// effect. A reboot restarts CLOCK_BOOTTIME, so it needs a new offset. Pure functions.

#include <algorithm>
#include <cstdint>

namespace tenure {

// The offset for a new boot or a new log. Ignores a wall clock that is behind the last entry.
constexpr std::int64_t engine_time_offset_ms(std::int64_t last_entry_ms, std::int64_t wall_ms, std::int64_t boot_ms) {
  return std::max(last_entry_ms, wall_ms) - boot_ms;
}

constexpr std::int64_t engine_time_ms(std::int64_t last_entry_ms, std::int64_t offset_ms, std::int64_t boot_ms) {
  return std::max(last_entry_ms, offset_ms + boot_ms);
}

}  // namespace tenure

#pragma once

// The time an engine of this host gives to entries: CLOCK_BOOTTIME moved by an offset, so that it reads roughly like
// the wall clock but never goes back. The wall clock is read once a boot, when the offset is chosen; from then on no
// step of it is seen. A reboot starts CLOCK_BOOTTIME anew, so it asks for a new offset. Pure functions.

#include <algorithm>
#include <cstdint>

namespace tenure {

// The offset for a new boot, or for a new log. A wall clock that lies behind the last entry is not believed.
constexpr std::int64_t engine_time_offset_ms(std::int64_t last_entry_ms, std::int64_t wall_ms, std::int64_t boot_ms) {
  return std::max(last_entry_ms, wall_ms) - boot_ms;
}

constexpr std::int64_t engine_time_ms(std::int64_t last_entry_ms, std::int64_t offset_ms, std::int64_t boot_ms) {
  return std::max(last_entry_ms, offset_ms + boot_ms);
}

}  // namespace tenure

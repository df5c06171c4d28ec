#pragma once

// Stores the offset between CLOCK_BOOTTIME and the times of a log (engine_time.h) in the file, for each boot, so that
// all processes of the host use the same scale.

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

// Reads the offset of this boot. For a new boot or a new log, chooses one and stores it. Call it with the write turn
// held.
Result<std::int64_t> boot_offset_ms(Connection& connection, const Clock& clock);

}  // namespace tenure::sqlite

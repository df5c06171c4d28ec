#pragma once

// The offset between CLOCK_BOOTTIME and the times of a log (engine_time.h), kept in the file for each boot, so that
// every process of the host gives times on one scale.

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "log/sqlite/connection.h"

namespace tenure::sqlite {

// Reads the offset of this boot, or chooses and stores one when the boot, or the log, is new. To be called with the
// write turn held.
Result<std::int64_t> boot_offset_ms(Connection& connection, const Clock& clock);

}  // namespace tenure::sqlite

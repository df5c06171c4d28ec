#include "base/clock.h"

#include <ctime>

#include "base/assert.h"

namespace tenure {
namespace {

Nanos read_clock(clockid_t id) {
  timespec time{};
  ASSERT(clock_gettime(id, &time) == 0);
  return std::chrono::seconds(time.tv_sec) + Nanos(time.tv_nsec);
}

}  // namespace

Instant BootClock::now() const { return {read_clock(CLOCK_BOOTTIME)}; }

std::int64_t BootClock::wall_ms() const { return to_ms(read_clock(CLOCK_REALTIME)); }

}  // namespace tenure

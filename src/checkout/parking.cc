#include "checkout/parking.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace tenure {
namespace {

// Longer than any process lives, and short enough that no sum overflows.
static_assert(sizeof(ParkWord) == sizeof(std::uint32_t) && ParkWord::is_always_lock_free);

timespec to_timespec(SteadyTime time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  return {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(since - seconds).count()};
}

}  // namespace

std::uint32_t park(const ParkWord& word, SteadyTime deadline) {
  const timespec until = to_timespec(deadline);  // steady_clock is CLOCK_MONOTONIC, and so is an absolute futex wait
  for (;;) {
    const std::uint32_t value = word.load(std::memory_order_acquire);
    if (value != 0) return value;
    if (std::chrono::steady_clock::now() >= deadline) return 0;
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
  }
}

void unpark(const ParkWord* word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

}  // namespace tenure

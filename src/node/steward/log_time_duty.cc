#include "node/steward/log_time_duty.h"

#include <algorithm>
#include <optional>

#include "base/mutant.h"
#include "machine/limits.h"
#include "node/records.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;

// A longer step would not count in full. The rest up to the bound is for the tick's way to the log and for the stagger.
constexpr std::int64_t kStepMs = kLogTimeStepMsMax * 4 / 5;
constexpr Nanos kTickStagger = milliseconds(100);  // each younger member waits this much longer

}  // namespace

void LogTimeDuty::look(const Machine& machine, std::size_t rank, Instant applied_at) {
  const std::optional<std::int64_t> due = machine.next_due_ms();
  if (!due) return tick_.cancel();
  std::int64_t left_ms = std::max<std::int64_t>(*due - machine.log_time_ms(), 0);
  if (!MUTANT(ticks_only_when_due)) left_ms = std::min(left_ms, kStepMs);
  const Nanos left = milliseconds(left_ms);
  const Instant when = applied_at + left + kTickStagger * static_cast<std::int64_t>(rank);
  if (tick_.armed() && tick_.when() == when) return;
  tick_.arm(std::max(when, loop_.now() + milliseconds(1)), [this] { appender_.offer(tick_record()); });
}

}  // namespace tenure

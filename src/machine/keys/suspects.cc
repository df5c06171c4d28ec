#include "machine/keys/suspects.h"

#include <algorithm>

#include "machine/limits.h"

namespace tenure {

bool Suspects::last_chance(const KeptJob& job) const {
  const std::uint32_t limit = context_.config().quarantine_after;
  return limit > 1 && std::uint32_t{job.crashes} + 1 >= limit;
}

std::uint32_t Suspects::on_trial(std::uint64_t session) const {
  std::uint32_t count = 0;
  for (const WorkerIx ix : state_.workers.by_age) {
    if (state_.workers[ix].session == session) count += state_.workers[ix].on_trial;
  }
  return count;
}

// If one job was on its last chance, it is to blame for the death, and no other. If several were, they are tried again,
// fewer at a time.
bool Suspects::blame(SlotId slot, std::uint32_t on_trial) {
  const Slot& entry = state_.table.slots[slot];
  KeptJob& job = state_.table.head(slot);
  if (on_trial != 0 && !entry.solo) return false;
  if (on_trial > 1) {
    job.extras().together_max = std::max(on_trial / kTrialCut, 1U);
    return false;
  }
  if (entry.settled || slots_.is_settled(slot)) {
    acquit(job);
    job.fuse_ms = 0;
    return false;
  }
  if (job.crashes < UINT16_MAX) ++job.crashes;
  const std::int64_t age_ms = entry.state == JobState::starting ? 0 : context_.log_time_ms() - entry.since_ms;
  job.fuse_ms = std::max(job.fuse_ms, static_cast<std::uint16_t>(std::min(age_ms, kYouthMs)));
  return context_.config().quarantine_after != 0 && job.crashes >= context_.config().quarantine_after;
}

void Suspects::acquit(KeptJob& job) {
  job.crashes = 0;
  if (job.extra) job.extra->together_max = 0;
}

// A job that kills its holders usually does so at the same age. It has to be alone for longer than that, or it would
// pass and never be found. The age is kept after it passes, until it has run for long.
std::int64_t Suspects::trial_ms(const KeptJob& job) {
  static_assert(kYouthMs <= UINT16_MAX);
  return std::clamp<std::int64_t>(2 * std::int64_t{job.fuse_ms}, kSoloMs, kYouthMs);
}

}  // namespace tenure

#include "machine/keys/starts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/mutant.h"
#include "machine/limits.h"
#include "tenure/v1/keys.pb.h"

namespace tenure {

void Starts::began(SlotId slot, WorkerIx ix, bool tentative) {
  state_.table.head(slot).ran = true;
  if (!tentative) return succeeded(slot, ix);
  if (fitness_.watches(ix)) fitness_.watch(ix, slot);
}

void Starts::succeeded(SlotId slot, WorkerIx ix) {
  KeptJob& job = state_.table.head(slot);
  job.steady = true;
  if (job.extra) {
    const std::uint64_t hash = state_.table.placed[slot].hash;
    for (const std::uint64_t age : std::exchange(job.extra->failed_on, {})) probation_.confirm(age, hash);
    keep_error(slot, {});
  }
  probation_.succeeded(ix);
}

void Starts::ran_for(SlotId slot) {
  if (context_.log_time_ms() - state_.table.slots[slot].since_ms < kStartSettleMs) return;
  KeptJob& job = state_.table.head(slot);
  job.steady = true;
  if (job.extra) job.extra->failed_on.clear();
}

bool Starts::was_starting(SlotId slot) const {
  const Slot& entry = state_.table.slots[slot];
  if (entry.kind != JobKind::resident) return false;
  if (entry.state == JobState::starting || timed_out(slot)) return true;
  return entry.state == JobState::running && context_.log_time_ms() - entry.since_ms < kStartSettleMs;
}

bool Starts::timed_out(SlotId slot) const {
  const Slot& entry = state_.table.slots[slot];
  return entry.state == JobState::moving && entry.kind == JobKind::resident && entry.started_ms == 0;
}

int Starts::at_least_kept(const KeptJob& job, int next) {
  if (next == v1::Failed::REFUSE) return job.ran ? v1::Failed::BURY : v1::Failed::DROP;
  if (next == v1::Failed::DROP && job.ran && !MUTANT(failed_start_drops)) return v1::Failed::RETRY;
  return next;
}

void Starts::failed(SlotId slot, WorkerIx ix, int next, BytesView error) {
  KeptJob& job = state_.table.head(slot);
  const std::uint64_t hash = state_.table.placed[slot].hash;
  const bool doubtful = fitness_.doubtful(ix);
  const bool first = !job.extra || job.extra->failed_on.empty();
  const std::uint64_t age = state_.workers[ix].age;
  slots_.set_state(slot, JobState::waiting);  // for what becomes of it below
  slots_.set_progress(job, Progress::begun);
  if (job.extra) {
    for (const std::uint64_t other : job.extra->failed_on) fitness_.withdraw(other, hash);
  }
  probation_.failed(ix, slot, error, job.steady && first);
  if (next == v1::Failed::BURY) return dead_.bury(slot, false, error);

  keep_error(slot, error);
  std::vector<std::uint64_t>& failed_on = job.extras().failed_on;
  if (std::find(failed_on.begin(), failed_on.end(), age) == failed_on.end()) failed_on.push_back(age);
  const bool keeps = next != v1::Failed::DROP;
  if (keeps ? try_elsewhere(slot, ix, false) : doubtful && first && try_elsewhere(slot, ix, true)) return;
  if (!keeps) {
    slots_.tell_failed(job, state_.table.slots[slot].epoch, error);
    return line_.finish_head(slot);
  }
  failed_on.clear();
  placement_.rechoose(slot);
  if (state_.table.placed[slot].target == kNone && fitness_.doubtful(ix))
    return slots_.set_state(slot, JobState::queued);
  count_attempt(slot, error);
}

bool Starts::try_elsewhere(SlotId slot, WorkerIx ix, bool only_proven) {
  const std::vector<std::uint64_t>& failed_on = state_.table.head(slot).extra->failed_on;
  if (failed_on.size() >= kFailedOnMax) return false;
  const WorkerIx other = placement_.other_for(slot, ix, failed_on, only_proven);
  if (other == kNone) return false;
  slots_.set_state(slot, JobState::queued);
  placement_.divert(slot, other);
  return true;
}

void Starts::count_attempt(SlotId slot, BytesView error) {
  KeptJob& job = state_.table.head(slot);
  ++job.attempts;
  const std::uint32_t limit = job.max_attempts != 0 ? job.max_attempts : context_.config().max_attempts;
  if (job.attempts >= limit) return dead_.bury(slot, false, error);
  if (MUTANT(retry_lost)) return line_.finish_head(slot);
  slots_.set_state(slot, JobState::waiting);
  std::int64_t pause_ms = backoff_ms(state_.table.slots[slot], job);
  if (context_.shutting_down()) pause_ms = std::min(pause_ms, kShutdownPauseMsMax);
  slots_.set_timer(slot, TimerKind::retry, context_.log_time_ms() + pause_ms);
}

// Doubles with every attempt, up to the cap. The jitter, up to a half, comes from the epoch, so that all nodes agree.
std::int64_t Starts::backoff_ms(const Slot& slot, const KeptJob& job) const {
  const PoolConfig& config = context_.config();
  std::int64_t span = config.backoff_base_ms;
  for (int i = 1; i < job.attempts && span < config.backoff_cap_ms; ++i) span *= 2;
  span = std::min(span, config.backoff_cap_ms);
  const auto half = static_cast<std::uint64_t>(span / 2);
  const bool rehearsed = context_.rule(Rule::rehearsed_jitter);
  const std::uint64_t mixed = rehearsed ? hash_mix(slot.stamp, slot.epoch) : hash_mix(slot.epoch, slot.stamp);
  std::uint64_t jitter = half == 0 ? 0 : mixed % (half + 1);
  if (MUTANT(local_time_in_machine)) jitter = context_.stats.entries % (half + 1);
  return static_cast<std::int64_t>(span - static_cast<std::int64_t>(half) + static_cast<std::int64_t>(jitter));
}

void Starts::keep_error(SlotId slot, BytesView error) {
  KeptJob& job = state_.table.head(slot);
  if (error.empty() && (!job.extra || job.extra->error.empty())) return;
  Bytes& kept = job.extras().error;
  state_.bytes += error.size() - kept.size();
  kept = Bytes(error);
}

void Starts::fire(const MachineTimer& timer) {
  const WorkerIx ix = timer.id;
  ASSERT(state_.workers[ix].live && state_.workers[ix].fitness.stamp == timer.stamp);
  state_.workers[ix].fitness.due_ms = 0;
  for (SlotId slot = fitness_.next_settled(ix); slot != kNone; slot = fitness_.next_settled(ix)) {
    slots_.touch(slot);
    succeeded(slot, ix);
  }
  probation_.probe(ix);
  fitness_.set_timer(ix);
  queues_.mark(ix);
}

}  // namespace tenure

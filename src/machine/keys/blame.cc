#include "machine/keys/blame.h"

#include <algorithm>

#include "base/mutant.h"
#include "machine/limits.h"
#include "tenure/v1/sessions.pb.h"

namespace tenure {
namespace {

void count(std::uint16_t& deaths) {
  if (deaths < UINT16_MAX) ++deaths;
}

Bytes times(std::uint32_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }

}  // namespace

Death Blame::death_of(const EndedSession& ended) const {
  Death death;
  if (ended.said != nullptr && !MUTANT(evidence_ignored)) {
    const int count = std::min(ended.said->culprits_size(), static_cast<int>(kCulpritsMax));
    death.culprits.assign(ended.said->culprits().begin(), ended.said->culprits().begin() + count);
    std::sort(death.culprits.begin(), death.culprits.end());
    death.evidence = BytesView(ended.said->evidence()).substr(0, kEvidenceBytesMax);
  }
  // The sessions of other shards may have run other jobs in the same process.
  const bool died = ended.how == SessionEnd::crashed || ended.how == SessionEnd::expired;
  if (!died || !death.culprits.empty() || context_.config().shard.count != 1) return death;
  std::uint64_t held = 0;
  bool isolates = false;
  for (const WorkerIx ix : state_.workers.by_age) {
    const PoolWorker& worker = state_.workers[ix];
    if (worker.session != ended.id) continue;
    held += worker.keys_held;
    isolates = isolates || worker.isolates;
  }
  death.alone = !isolates && (held == 1 || MUTANT(blames_all_young));
  return death;
}

std::optional<Bytes> Blame::judge(SlotId slot, const Death& death) {
  if (std::binary_search(death.culprits.begin(), death.culprits.end(), state_.table.slots[slot].epoch)) {
    return count_crash(slot, death.evidence);
  }
  if (death.alone) return count_lonely_death(slot);
  state_.table.head(slot).lonely_deaths = 0;
  return std::nullopt;
}

void Blame::acquit(KeptJob& job) {
  job.crashes = 0;
  job.lonely_deaths = 0;
}

std::optional<Bytes> Blame::count_crash(SlotId slot, BytesView evidence) {
  KeptJob& job = state_.table.head(slot);
  if (ran_ms(slot) >= kForgivenMs) job.crashes = 0;
  job.lonely_deaths = 0;
  count(job.crashes);
  context_.note(job.crashes);
  if (!enough(job.crashes)) return std::nullopt;
  Bytes reason = "quarantined: its handler crashed its process " + times(job.crashes);
  if (!evidence.empty()) reason += " (" + Bytes(evidence) + ")";
  return reason;
}

std::optional<Bytes> Blame::count_lonely_death(SlotId slot) {
  KeptJob& job = state_.table.head(slot);
  if (ran_ms(slot) >= kYouthMs) {
    job.lonely_deaths = 0;
    return std::nullopt;
  }
  count(job.lonely_deaths);
  context_.note(job.lonely_deaths);
  if (!enough(job.lonely_deaths)) return std::nullopt;
  return "quarantined: its holder died " + times(job.lonely_deaths) + " in a row, with no other job in its process";
}

bool Blame::enough(std::uint32_t deaths) const {
  const std::uint32_t limit = context_.config().quarantine_after;
  return limit != 0 && deaths >= limit;
}

// By the engine's time, since that of the log takes bounded steps.
std::int64_t Blame::ran_ms(SlotId slot) const {
  const std::int64_t started_ms = state_.table.slots[slot].started_ms;
  return started_ms == 0 ? 0 : context_.engine_ms() - started_ms;
}

}  // namespace tenure

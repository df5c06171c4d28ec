#include "machine/config.h"

#include <algorithm>

#include "machine/limits.h"
#include "machine/load.h"
#include "tenure/v1/pool.pb.h"

namespace tenure {

void encode_ring(const Ring& ring, v1::Ring& into) {
  into.set_partitions(ring.partitions);
  into.set_secondaries(ring.secondaries);
  into.set_settle_ms(static_cast<std::uint64_t>(ring.settle_ms));
  into.set_anyone(ring.anyone);
  if (ring.cuts > 1) into.set_cuts(ring.cuts);
  into.set_surge(ring.surge);
}

Status check_ring(const Ring& ring, const char* operation) {
  const auto bad = [&](const std::string& what) { return fail(Errc::invalid, operation, what); };
  const std::string most = std::to_string(kPartitionsMax);
  if (ring.partitions == 0 || ring.partitions > kPartitionsMax) return bad("a pool has 1 to " + most + " partitions");
  if (ring.secondaries >= ring.partitions) {
    return bad("with " + std::to_string(ring.partitions) + " partitions, each has at most " +
               std::to_string(ring.partitions - 1) + " secondaries");
  }
  if (ring.settle_ms < 0 || ring.settle_ms > kSettleMsMax) return bad("the settling time is negative, or over an hour");
  if (ring.surge == 0 && ring.cuts != 1) return bad("partitions are cut for surge alone, which needs a backlog");
  if (ring.surge != 0 && (ring.cuts < 2 || ring.cuts > kCutsMax)) {
    return bad("with surge, a partition is cut into 2 to " + std::to_string(kCutsMax) + " parts");
  }
  if (ring.parts() > kPartitionsMax) {
    return bad("a pool has at most " + most + " parts of partitions, and these are " + std::to_string(ring.parts()));
  }
  return {};
}

bool load_ring(const v1::Ring& from, Ring& into) {
  const bool sound =
      from.partitions() != 0 && from.partitions() <= kPartitionsMax && from.secondaries() < from.partitions() &&
      from.settle_ms() <= static_cast<std::uint64_t>(kSettleMsMax) && from.cuts() <= kCutsMax &&
      from.partitions() * std::max(1U, from.cuts()) <= kPartitionsMax && (from.surge() == 0) == (from.cuts() <= 1);
  if (!sound) return false;
  into = {.partitions = from.partitions(),
          .secondaries = from.secondaries(),
          .settle_ms = static_cast<std::int64_t>(from.settle_ms()),
          .anyone = from.anyone(),
          .cuts = std::max(1U, from.cuts()),
          .surge = from.surge()};
  return true;
}

void encode_config(const PoolConfig& config, v1::Configure& into) {
  into.set_max_queued_jobs(config.max_queued_jobs);
  into.set_max_delayed_jobs(config.max_delayed_jobs);
  into.set_max_attempts(config.max_attempts);
  into.set_pending_job_ttl_ms(static_cast<std::uint64_t>(config.pending_job_ttl_ms));
  into.set_worker_shutdown_ttl_ms(static_cast<std::uint64_t>(config.worker_shutdown_ttl_ms));
  into.set_assignment(static_cast<v1::Configure::Assignment>(config.assignment));
  into.set_quarantine_after_plus_one(config.quarantine_after + 1);
  into.set_backoff_base_ms(static_cast<std::uint64_t>(config.backoff_base_ms));
  into.set_backoff_cap_ms(static_cast<std::uint64_t>(config.backoff_cap_ms));
  into.set_shard(config.shard.index);
  into.set_shards(config.shard.count);
  if (config.ring.partitions != 0) encode_ring(config.ring, *into.mutable_ring());
}

void apply_config(const v1::Configure& record, PoolConfig& config) {
  if (record.max_queued_jobs() != 0) config.max_queued_jobs = record.max_queued_jobs();
  if (record.max_delayed_jobs() != 0) config.max_delayed_jobs = record.max_delayed_jobs();
  if (record.max_attempts() != 0) config.max_attempts = std::min<std::uint32_t>(record.max_attempts(), UINT16_MAX);
  const auto span = [](std::uint64_t ms, std::int64_t& into) {
    if (ms != 0) into = static_cast<std::int64_t>(std::min(ms, kDelayMsMax));
  };
  span(record.pending_job_ttl_ms(), config.pending_job_ttl_ms);
  span(record.worker_shutdown_ttl_ms(), config.worker_shutdown_ttl_ms);
  span(record.backoff_base_ms(), config.backoff_base_ms);
  span(record.backoff_cap_ms(), config.backoff_cap_ms);
  if (record.quarantine_after_plus_one() != 0) config.quarantine_after = record.quarantine_after_plus_one() - 1;
  if (record.shard() < record.shards() && record.shards() <= kShardsMax) {
    config.shard = {record.shard(), record.shards()};
  }
  if (record.has_ring()) (void)load_ring(record.ring(), config.ring);  // one that is not sound changes nothing
  switch (record.assignment()) {
    case v1::Configure::RENDEZVOUS: config.assignment = Assignment::rendezvous; break;
    case v1::Configure::JUMP: config.assignment = Assignment::jump; break;
    case v1::Configure::CHOSEN: config.assignment = Assignment::chosen; break;
    default: break;  // unset, or of a newer version
  }
}

bool load_config(const v1::Configure& from, PoolConfig& config) {
  if (from.assignment() < v1::Configure::RENDEZVOUS || from.assignment() > v1::Configure::CHOSEN) return false;
  config.max_queued_jobs = from.max_queued_jobs();
  config.max_delayed_jobs = from.max_delayed_jobs();
  config.max_attempts = from.max_attempts();
  config.pending_job_ttl_ms = static_cast<std::int64_t>(from.pending_job_ttl_ms());
  config.worker_shutdown_ttl_ms = static_cast<std::int64_t>(from.worker_shutdown_ttl_ms());
  config.backoff_base_ms = static_cast<std::int64_t>(from.backoff_base_ms());
  config.backoff_cap_ms = static_cast<std::int64_t>(from.backoff_cap_ms());
  config.quarantine_after = from.quarantine_after_plus_one() - 1;
  config.assignment = static_cast<Assignment>(from.assignment());
  config.shard = {from.shard(), std::max(1U, from.shards())};
  config.ring = {};
  if (from.has_ring() && !load_ring(from.ring(), config.ring)) return false;
  return is_span(config.pending_job_ttl_ms) && is_span(config.worker_shutdown_ttl_ms) &&
         is_span(config.backoff_base_ms) && is_span(config.backoff_cap_ms) && config.max_queued_jobs != 0 &&
         config.max_delayed_jobs != 0 && config.max_attempts != 0 && config.max_attempts <= UINT16_MAX &&
         config.shard.index < config.shard.count && config.shard.count <= kShardsMax;
}

std::vector<DifferingOption> differing_options(const PoolConfig& own, const PoolConfig& pool) {
  std::vector<DifferingOption> found;
  const auto compare = [&](std::string_view name, auto own_value, auto pool_value, const char* unit = "") {
    if (own_value == pool_value) return;
    found.push_back({name, std::to_string(own_value) + unit, std::to_string(pool_value) + unit});
  };
  compare("max_queued_jobs", own.max_queued_jobs, pool.max_queued_jobs);
  compare("max_delayed_jobs", own.max_delayed_jobs, pool.max_delayed_jobs);
  compare("pending_job_ttl", own.pending_job_ttl_ms, pool.pending_job_ttl_ms, " ms");
  compare("worker_shutdown_ttl", own.worker_shutdown_ttl_ms, pool.worker_shutdown_ttl_ms, " ms");
  compare("max_attempts", own.max_attempts, pool.max_attempts);
  compare("retry_backoff", own.backoff_base_ms, pool.backoff_base_ms, " ms");
  compare("retry_backoff_max", own.backoff_cap_ms, pool.backoff_cap_ms, " ms");
  compare("quarantine_after", own.quarantine_after, pool.quarantine_after);
  const auto name_of = [](Assignment assignment) {
    return assignment == Assignment::jump ? "jump" : assignment == Assignment::chosen ? "chosen" : "rendezvous";
  };
  if (own.assignment != pool.assignment) {
    found.push_back({"assignment", name_of(own.assignment), name_of(pool.assignment)});
  }
  return found;
}

std::string to_text(const Ring& ring) {
  const auto count = [](std::uint32_t number, const char* one, const char* many) {
    return std::to_string(number) + " " + (number == 1 ? one : many);
  };
  return count(ring.partitions, "partition", "partitions") + " with " +
         count(ring.secondaries, "secondary", "secondaries") + " each" +
         (ring.settle_ms != 0 ? ", settling for " + std::to_string(ring.settle_ms) + " ms" : "") +
         (ring.anyone ? ", or anyone" : "") +
         (ring.surge == 0 ? ""
                          : ", each in " + std::to_string(ring.cuts) + " parts, which idle replicas help with from " +
                                "a backlog of " + std::to_string(ring.surge));
}

std::string to_text(const std::vector<DifferingOption>& options) {
  std::string text;
  for (const DifferingOption& option : options) {
    text += text.empty() ? "" : ", ";
    text.append(option.name).append(" ").append(option.own).append(" (the pool has ").append(option.pool).append(")");
  }
  return text;
}

}  // namespace tenure

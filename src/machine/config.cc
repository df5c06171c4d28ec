#include "machine/config.h"

#include "tenure/v1/record.pb.h"

namespace tenure {

void encode_config(const PoolConfig& config, v1::Configure& into) {
  into.set_max_queued_jobs(config.max_queued_jobs);
  into.set_max_attempts(config.max_attempts);
  into.set_pending_job_ttl_ms(static_cast<std::uint64_t>(config.pending_job_ttl_ms));
  into.set_worker_shutdown_ttl_ms(static_cast<std::uint64_t>(config.worker_shutdown_ttl_ms));
  into.set_assignment(static_cast<v1::Configure::Assignment>(config.assignment));
  into.set_quarantine_after_plus_one(config.quarantine_after + 1);
  into.set_backoff_base_ms(static_cast<std::uint64_t>(config.backoff_base_ms));
  into.set_backoff_cap_ms(static_cast<std::uint64_t>(config.backoff_cap_ms));
  into.set_shard(config.shard.index);
  into.set_shards(config.shard.count);
}

}  // namespace tenure

#pragma once

// The pool's options, as the log has them: the same on every node.

#include <cstdint>
#include <tenure/defaults.hpp>
#include <tenure/kinds.hpp>

#include "base/shard.h"

namespace tenure {

namespace v1 {
class Configure;
}  // namespace v1

struct PoolConfig {
  std::uint32_t max_queued_jobs = kMaxQueuedJobsDefault;
  std::uint32_t max_attempts = kMaxAttemptsDefault;
  std::int64_t pending_job_ttl_ms = kPendingJobTtlMsDefault;
  std::int64_t worker_shutdown_ttl_ms = kWorkerShutdownTtlMsDefault;
  std::int64_t backoff_base_ms = kRetryBackoffMsDefault;
  std::int64_t backoff_cap_ms = kRetryBackoffMsMaxDefault;
  std::uint32_t quarantine_after = kQuarantineAfterDefault;  // deaths of holders; zero: never
  Assignment assignment = Assignment::rendezvous;
  Shard shard{};  // which part of the pool this machine is

  friend bool operator==(const PoolConfig&, const PoolConfig&) = default;
};

// Writes every option, also those that have their default.
void encode_config(const PoolConfig& config, v1::Configure& into);

}  // namespace tenure

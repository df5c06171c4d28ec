#pragma once

// The pool's options as the log has them, the same on every node.

#include <cstdint>
#include <string>
#include <string_view>
#include <tenure/defaults.hpp>
#include <tenure/kinds.hpp>
#include <vector>

#include "assign/ranked.h"
#include "base/result.h"
#include "base/shard.h"

namespace tenure {

namespace v1 {
class Configure;
class Ring;
}  // namespace v1

struct PoolConfig {
  std::uint32_t max_queued_jobs = kMaxQueuedJobsDefault;
  std::uint32_t max_delayed_jobs = kMaxDelayedJobsDefault;
  std::uint32_t max_attempts = kMaxAttemptsDefault;
  std::int64_t pending_job_ttl_ms = kPendingJobTtlMsDefault;
  std::int64_t worker_shutdown_ttl_ms = kWorkerShutdownTtlMsDefault;
  std::int64_t backoff_base_ms = kRetryBackoffMsDefault;
  std::int64_t backoff_cap_ms = kRetryBackoffMsMaxDefault;
  std::uint32_t quarantine_after = kQuarantineAfterDefault;  // deaths of holders; zero: no limit
  Assignment assignment = Assignment::rendezvous;
  Shard shard{};  // the part of the pool that this machine is
  Ring ring{};    // of workers, which give the pool its partitions

  friend bool operator==(const PoolConfig&, const PoolConfig&) = default;
};

// An option of which two configurations have different values.
struct DifferingOption {
  std::string_view name;  // as PoolOptions has it
  std::string own;
  std::string pool;
};
std::vector<DifferingOption> differing_options(const PoolConfig& own, const PoolConfig& pool);
// For people: "4 partitions with 1 secondary each", and the rest if it is not the default.
std::string to_text(const Ring& ring);
// For people: "max_queued_jobs 5 (the pool has 1000), …".
std::string to_text(const std::vector<DifferingOption>& options);

void encode_ring(const Ring& ring, v1::Ring& into);
// Errc::invalid says what is wrong with it.
Status check_ring(const Ring& ring, const char* operation);
// False if it has no partitions, or is over a bound.
bool load_ring(const v1::Ring& from, Ring& into);
void encode_config(const PoolConfig& config, v1::Configure& into);
// Applies the fields that the record sets. A field that is zero, or unknown to this version, keeps its value.
void apply_config(const v1::Configure& record, PoolConfig& config);
// Reads the output of encode_config(). False if it is damaged.
bool load_config(const v1::Configure& from, PoolConfig& config);

}  // namespace tenure

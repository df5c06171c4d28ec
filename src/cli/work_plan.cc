#include "cli/work_plan.h"

#include <unistd.h>

#include <algorithm>
#include <tenure/defaults.hpp>
#include <thread>
#include <utility>

#include "base/host_name.h"
#include "cli/connect.h"
#include "cli/takes.h"
#include "log/engines.h"
#include "machine/limits.h"

namespace tenure::cli {
namespace {

std::string host_and_process() { return host_name() + ":" + std::to_string(getpid()); }

// Reads the limits of warm programs.
Status read_wear(const Call& call, guard::WearLimits& wear) {
  const auto number = [&](const char* flag, std::uint64_t& into) -> Status {
    if (call.has(flag) && !call.has("warm")) return misused("--" + std::string(flag) + " is for --warm");
    const Result<std::uint64_t> read = call.number(flag, into, UINT64_MAX / 2);
    if (!read) return Failure(read.error());
    into = *read;
    return {};
  };
  const auto span = [&](const char* flag, Nanos& into) -> Status {
    if (call.has(flag) && !call.has("warm")) return misused("--" + std::string(flag) + " is for --warm");
    const Result<std::chrono::milliseconds> read = call.duration(flag, {});
    if (!read) return Failure(read.error());
    into = *read;
    return {};
  };
  for (const Status& read :
       {number("max-tasks", wear.jobs), span("max-age", wear.age), span("idle-timeout", wear.idle),
        number("memory-bytes", wear.memory_bytes), number("memory-bytes-hard", wear.memory_bytes_hard),
        span("task-time", wear.job_time), span("max-age-hard", wear.age_hard)}) {
    if (!read) return read;
  }
  return {};
}

// Warm programs are for tasks.
Result<Takes> takes_of(const Call& call) {
  if (call.has("takes") && call.has("task")) return misused("--task means --takes task: give one of them");
  if (!call.has("takes")) return call.has("task") || call.has("warm") ? read_takes("task") : Takes();
  Result<Takes> takes = read_takes(*call.value("takes"));
  if (takes && call.has("warm") && takes->any(JobKind::resident))
    return misused("with --warm, workers take tasks only");
  return takes;
}

guard::GuardOptions guard_options(const Call& call) {
  using Group = guard::GuardOptions::Group;
  guard::GuardOptions options;
  options.command = {"/proc/self/exe", "guard-main"};
  options.last_net = true;
  const std::string where = call.value("cgroup").value_or("auto");
  options.group = where == "off" ? Group::none : where == "auto" ? Group::possible : Group::required;
  if (options.group == Group::required) options.group_parent = where;
  return options;
}

}  // namespace

std::optional<std::string> wrong_lease(std::chrono::milliseconds lease) {
  if (lease.count() >= kLeaseMsMin && lease.count() <= kLeaseMsMax) return std::nullopt;
  return "a lease must lie between 100ms and 1h";
}

Result<WorkPlan> work_plan(const Call& call) {
  const Result<std::string> url = engine_url(call);
  if (!url) return Failure(url.error());
  const Result<std::chrono::milliseconds> lease = call.duration("lease", default_lease(*url));
  if (!lease) return Failure(lease.error());
  if (const auto wrong = wrong_lease(*lease)) return misused("--lease: " + *wrong);
  const Result<std::uint64_t> count = call.number("workers", 1, 1000);
  if (!count) return Failure(count.error());
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const Result<std::uint64_t> concurrency = call.number("concurrency", std::max<std::uint64_t>(4, 2 * cores), 10'000);
  if (!concurrency) return Failure(concurrency.error());
  const Result<std::uint64_t> weight = call.number("weight", kWeightDefault, kWeightMax);
  if (!weight) return Failure(weight.error());
  PoolConfig config;
  const Result<std::uint64_t> queued = call.number("max-queued", config.max_queued_jobs, UINT32_MAX);
  if (!queued) return Failure(queued.error());
  const Result<std::uint64_t> attempts = call.number("max-attempts", config.max_attempts, 10'000);
  if (!attempts) return Failure(attempts.error());
  const Result<std::uint64_t> shards = call.number("shards", 0, kShardsMax);
  if (!shards) return Failure(shards.error());
  if (call.has("shards") && *shards == 0) return misused("--shards must be at least 1");
  const Result<std::uint64_t> deaths = call.number("quarantine-after", config.quarantine_after, 10'000);
  if (!deaths) return Failure(deaths.error());
  const Result<std::uint64_t> delayed = call.number("max-delayed", config.max_delayed_jobs, UINT32_MAX);
  if (!delayed) return Failure(delayed.error());
  const Result<std::chrono::milliseconds> stop =
      call.duration("stop-timeout", std::chrono::milliseconds(config.worker_shutdown_ttl_ms));
  if (!stop) return Failure(stop.error());
  if (*stop <= std::chrono::milliseconds(0)) return misused("--stop-timeout must be more than zero");
  config.max_delayed_jobs = static_cast<std::uint32_t>(*delayed);
  config.worker_shutdown_ttl_ms = stop->count();
  config.max_queued_jobs = static_cast<std::uint32_t>(*queued);
  config.max_attempts = static_cast<std::uint32_t>(*attempts);
  config.quarantine_after = static_cast<std::uint32_t>(*deaths);
  if (*count == 0 || *concurrency == 0) {
    return fail(Errc::invalid, "read the command line", "--workers and --concurrency must be at least 1");
  }

  WorkPlan plan;
  plan.core.url = *url;
  plan.core.pool = pool_name(call);
  plan.core.shard.count = static_cast<std::uint32_t>(*shards);
  plan.core.node.lease = *lease;
  plan.core.node.restores = !call.has("no-heal");
  plan.core.node.config = config;
  plan.guard = guard_options(call);
  plan.programs.pool = plan.core.pool;
  plan.programs.command = call.rest;
  plan.programs.protocol = call.value("protocol") == "json" ? exec::Protocol::json : exec::Protocol::plain;
  plan.programs.lease = *lease;
  plan.programs.tasks_max = *concurrency;
  plan.known_death = !call.has("no-known-death");
  plan.health_file = call.value("health").value_or("");
  const Result<std::uint64_t> warm = call.number("warm", 0, 1000);
  if (!warm) return Failure(warm.error());
  if (call.has("warm") && *warm == 0) return misused("--warm must be at least 1");
  if (call.has("warm") && call.value("protocol") == "plain") return misused("--warm speaks --protocol json");
  plan.warm = *warm;
  if (const Status read = read_wear(call, plan.wear); !read) return Failure(read.error());
  const Result<Takes> takes = takes_of(call);
  if (!takes) return Failure(takes.error());
  const std::string id = call.value("id").value_or(host_and_process());
  for (std::uint64_t i = 1; i <= *count; ++i) {
    NodeWorker worker;
    worker.id = *count == 1 ? id : id + "-" + std::to_string(i);
    worker.weight = static_cast<std::uint32_t>(*weight);
    worker.takes = *takes;
    worker.isolates = true;
    if (i == 1) {
      worker.replaces = call.value("replaces").value_or("");
      worker.serves = call.values("serves");
    }
    plan.workers.push_back(std::move(worker));
  }
  return plan;
}

}  // namespace tenure::cli

// tenure work: workers whose handlers are programs.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <tenure/defaults.hpp>
#include <thread>
#include <utility>

#include "base/host_name.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/takes.h"
#include "cli/work_events.h"
#include "cli/work_life.h"
#include "cli/work_sources.h"
#include "exec/append_ends.h"
#include "exec/find_program.h"
#include "exec/program_host.h"
#include "exec/warm_host.h"
#include "exec/watch_deaths.h"
#include "guard/guard_main.h"
#include "log/engines.h"

namespace tenure::cli {
namespace {

struct WorkPlan {
  CoreOptions core;
  exec::ProgramOptions programs;
  std::vector<NodeWorker> workers;
  bool known_death = true;
  std::uint64_t warm = 0;  // number of warm programs; zero for none
  guard::WearLimits wear;  // limits of warm programs
};

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

Result<WorkPlan> work_plan(const Call& call) {
  const Result<std::string> url = engine_url(call);
  if (!url) return Failure(url.error());
  const Result<std::chrono::milliseconds> lease = call.duration("lease", default_lease(*url));
  if (!lease) return Failure(lease.error());
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
  plan.core.pool = pool_name(call);
  plan.core.shard.count = static_cast<std::uint32_t>(*shards);
  plan.core.node.lease = *lease;
  plan.core.node.restores = !call.has("no-heal");
  plan.core.node.config = config;
  plan.programs.pool = plan.core.pool;
  plan.programs.command = call.rest;
  plan.programs.protocol = call.value("protocol") == "json" ? exec::Protocol::json : exec::Protocol::plain;
  plan.programs.lease = *lease;
  plan.programs.tasks_max = *concurrency;
  plan.known_death = !call.has("no-known-death");
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

// The host that runs the programs: one program per job, or warm programs.
struct Programs {
  std::unique_ptr<Host> host;
  std::function<void(HoldReports&, Shards&)> attach;
};

template <class Made>
Result<Programs> programs_from(Result<std::unique_ptr<Made>> made) {
  if (!made) return Failure(made.error());
  Made* host = made->get();
  return Programs{*std::move(made), [host](HoldReports& reports, Shards& pool) {
                    host->attach(reports, [&pool](const Hold& hold) { return pool.emitter(hold); });
                  }};
}

Result<Programs> programs_of(guard::Guard& guard, const WorkPlan& plan) {
  if (plan.warm > 0) return programs_from(exec::WarmHost::create(guard, plan.programs, plan.warm, plan.wear));
  return programs_from(exec::ProgramHost::create(guard, plan.programs));
}

// Shared by the nodes of all shards.
class Told final : public NodeEvents {
 public:
  Told(WorkEvents& events, const Call& call, PoolConfig own) : events_(events), call_(call), own_(own) {}
  void log_delayed(const Error& error) override {
    const std::lock_guard lock(mutex_);
    if (delayed_++ == 0) print_note("tenure: waiting for the log: " + error.message());
  }
  void log_resumed() override {
    const std::lock_guard lock(mutex_);
    if (--delayed_ == 0) print_note("tenure: the log is back");
  }
  void log_warned(const Error& error) override { print_note("tenure: " + error.message()); }
  void restoring(const Restored& it) override { print_note("tenure: " + to_string(it, false)); }
  void restored(const Restored& it) override {
    const std::string text = to_string(it, true);
    print_note("tenure: " + text);
    events_.write({"restored", {}, 0, {}, text});
  }
  void not_restored(std::string_view why) override {
    print_note("tenure: the log lost what had been read, and it is not put back: " + std::string(why));
  }
  // Of what was asked for on the command line. Said once, not by each shard.
  void options_differ(const PoolConfig& pool) override {
    std::vector<DifferingOption> differing = differing_options(own_, pool);
    std::erase_if(differing, [&](const DifferingOption& option) {
      const auto flag =
          std::find_if(kFlags.begin(), kFlags.end(), [&](const auto& pair) { return pair.first == option.name; });
      return flag == kFlags.end() || !call_.has(flag->second);
    });
    if (differing.empty() || said_.exchange(true)) return;
    print_note("tenure: the pool was created with other options, and these have no effect: " + to_text(differing));
  }
  void fenced(std::uint64_t /*session*/, FenceReason reason) override {
    events_.write({"fenced", {}, 0, {}, to_string(reason)});
  }
  void worker_unfit(BytesView worker, BytesView error) override {
    events_.write({"unfit", {}, 0, worker, error});
    print_note("tenure: worker '" + Bytes(worker) +
               "' is unfit: its starts keep failing, and it gets no keys until one " +
               "succeeds. The last error: " + Bytes(error));
  }
  void worker_fit(BytesView worker) override { events_.write({"fit", {}, 0, worker, {}}); }
  void broken(const Error& error) override {
    const std::lock_guard lock(mutex_);
    failure_ = error;
  }

  // Why the node has given up, if it has.
  std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  static constexpr std::array<std::pair<std::string_view, const char*>, 5> kFlags{{
      {"max_queued_jobs", "max-queued"},
      {"max_delayed_jobs", "max-delayed"},
      {"max_attempts", "max-attempts"},
      {"quarantine_after", "quarantine-after"},
      {"worker_shutdown_ttl", "stop-timeout"},
  }};

  WorkEvents& events_;
  const Call& call_;
  const PoolConfig own_;
  std::atomic<bool> said_ = false;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<Error> failure_;
  int delayed_ = 0;  // how many shards wait for the log
};

// Returns on a signal, or when the pool ends by itself.
// Detects the death of other processes by a lock beside the shard's file, if there is a file. The guard and its keepers
// share the lock. Null for other engines.
Result<KnownDeath*> death_watch_of(const WorkPlan& plan, std::uint32_t shard, guard::Guard& guard,
                                   std::vector<std::unique_ptr<guard::DeathWatch>>& watches) {
  if (!plan.known_death) return nullptr;
  Result<std::unique_ptr<guard::DeathWatch>> watch = exec::watch_deaths(plan.core.url, plan.core.pool, shard);
  if (!watch) return Failure(watch.error());
  if (!*watch) return nullptr;
  guard.share((*watch)->descriptor());
  return watches.emplace_back(*std::move(watch)).get();
}

}  // namespace

int run_guard_main(const Call& /*call*/) { return guard::guard_main(exec::append_ends); }

int run_work(const Call& call) {
  if (call.rest.empty()) return report_usage(call, {Errc::invalid, "", "--exec CMD… is needed"});
  if (const Status found = exec::find_program(call.rest.front()); !found) {
    return report_usage(call, {Errc::invalid, "", found.error().context + "; --exec needs a program that exists"});
  }
  if (const Status sound = check_sources(call.values("source")); !sound) return report_usage(call, sound.error());
  Result<WorkPlan> plan = work_plan(call);
  if (!plan) return report_usage(call, plan.error());
  const Result<std::string> url = engine_url(call);
  if (!url) return report(call, url.error());
  plan->core.url = *url;
  const Signals signals;

  Result<std::unique_ptr<guard::Guard>> guard = guard::Guard::start(guard_options(call));
  if (!guard) return report(call, guard.error());
  plan->core.known_deaths = plan->known_death;
  // The guard opens the log too, so the log cannot be in this process's memory.
  if (plan->known_death && reach_of(*url) != Reach::process) plan->programs.engine_url = *url;

  WorkEvents events(call.json());
  Told told(events, call, plan->core.node.config);
  TakenIds taken;
  std::vector<std::unique_ptr<guard::DeathWatch>> deaths;
  std::unique_ptr<Shards> pool;
  plan->programs.log = [](const Hold& hold, BytesView line) { print_note(hold.key + " | " + Bytes(line)); };
  plan->programs.guard_lost = [&pool] { pool->host_lost(); };
  Result<Programs> programs = programs_of(**guard, *plan);
  if (!programs) return report(call, programs.error());
  ToldHost host(*programs->host);
  ShardParts parts;
  parts.host = [&](std::uint32_t) { return &host; };
  parts.listeners = [&](std::uint32_t) { return CoreListeners{.node = {&told, &taken}}; };
  parts.known_death = [&](std::uint32_t shard) { return death_watch_of(*plan, shard, **guard, deaths); };
  Result<std::unique_ptr<Shards>> opened = Shards::open(plan->core, parts);
  if (!opened) return report(call, opened.error());
  pool = *std::move(opened);
  if (plan->warm != 0 && plan->warm < pool->count()) {
    const std::string least = std::to_string(pool->count());
    return report_usage(call, {Errc::invalid, "", "--warm must be at least " + least + ": a program for each shard"});
  }
  ToldReports reports(events, pool->reports());
  programs->attach(reports, *pool);
  host.attach(reports);

  const Joining joining = join(*pool, plan->workers, taken, signals);
  if (joining.interrupted) return kDone;
  if (!joining.added) return report(call, joining.added.error());
  const auto sources = WorkSources::open(call.values("source"), plan->core, signals);
  if (!sources) {
    leave(*pool, plan->workers, signals);
    if (sources.error().code == Errc::closed) return kDone;
    return report(call, sources.error());
  }
  std::string all;
  for (const NodeWorker& worker : plan->workers) all += (all.empty() ? "" : " ") + worker.id;
  events.write({"ready", {}, 0, all, {}});
  wait_for_end(*pool, signals);
  if (*sources) (*sources)->close();
  leave(*pool, plan->workers, signals);
  for (const NodeWorker& worker : plan->workers) events.write({"left", {}, 0, worker.id, {}});
  pool.reset();
  if (const std::optional<Error> failure = told.failure()) return report(call, *failure);
  return kDone;
}

}  // namespace tenure::cli

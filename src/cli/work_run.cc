#include "cli/work_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "cli/failure.h"
#include "cli/health_file.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/work_life.h"
#include "cli/work_sources.h"
#include "exec/append_ends.h"
#include "exec/program_host.h"
#include "exec/warm_host.h"
#include "exec/watch_deaths.h"
#include "guard/guard_main.h"
#include "log/engines.h"

namespace tenure::cli {
namespace {

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

int run_work_plan(const Call& call, WorkPlan& plan, WorkEvents& events) {
  const Signals signals;

  Result<std::unique_ptr<guard::Guard>> guard = guard::Guard::start(plan.guard);
  if (!guard) return report(call, guard.error());
  plan.core.known_deaths = plan.known_death;
  // The guard opens the log too, so the log cannot be in this process's memory.
  if (plan.known_death && reach_of(plan.core.url) != Reach::process) plan.programs.engine_url = plan.core.url;

  Told told(events, call, plan.core.node.config);
  TakenIds taken;
  std::unique_ptr<HealthFile> health;
  if (!plan.health_file.empty()) {
    Result<std::unique_ptr<HealthFile>> made = HealthFile::create(plan.health_file);
    if (!made) return report(call, made.error());
    health = *std::move(made);
  }
  std::vector<std::unique_ptr<guard::DeathWatch>> deaths;
  std::unique_ptr<Shards> pool;
  plan.programs.log = [](const Hold& hold, BytesView line) { print_note(hold.key + " | " + Bytes(line)); };
  plan.programs.guard_lost = [&pool] { pool->host_lost(); };
  Result<Programs> programs = programs_of(**guard, plan);
  if (!programs) return report(call, programs.error());
  ToldHost host(*programs->host, plan.jobs_max);
  ShardParts parts;
  parts.host = [&](std::uint32_t) { return &host; };
  parts.listeners = [&](std::uint32_t shard) {
    CoreListeners listeners{.node = {&told, &taken}, .pool = plan.watchers};
    if (health) listeners.node.push_back(&health->of(shard));
    return listeners;
  };
  parts.known_death = [&](std::uint32_t shard) { return death_watch_of(plan, shard, **guard, deaths); };
  Result<std::unique_ptr<Shards>> opened = Shards::open(plan.core, parts);
  if (!opened) return report(call, opened.error());
  pool = *std::move(opened);
  if (plan.warm != 0 && plan.warm < pool->count()) {
    const std::string least = std::to_string(pool->count());
    return report_usage(call, {Errc::invalid, "", "--warm must be at least " + least + ": a program for each shard"});
  }
  ToldReports reports(events, pool->reports());
  programs->attach(reports, *pool);
  host.attach(reports);

  const Joining joining = join(*pool, plan.workers, taken, signals, plan.refuse_taken);
  if (joining.interrupted) return kDone;
  if (!joining.added) {
    const bool taken_id = joining.added.error().code == Errc::key_exists && !plan.taken_hint.empty();
    if (!taken_id) return report(call, joining.added.error());
    Error error = joining.added.error();
    error.context += "; " + plan.taken_hint;
    return report(call, error, [](const Error&) { return std::string(); });
  }
  const auto sources = WorkSources::open(plan, signals);
  if (!sources) {
    leave(*pool, plan.workers, signals);
    if (sources.error().code == Errc::closed) return kDone;
    return report(call, sources.error());
  }
  std::string all;
  for (const NodeWorker& worker : plan.workers) all += (all.empty() ? "" : " ") + worker.id;
  events.write({"ready", {}, 0, all, {}});
  if (health) health->joined();
  wait_for_end(*pool, plan.workers, taken, signals, plan.enough);
  if (health) health->leaving();
  if (*sources) close_unless_urged([&] { (*sources)->close(); }, signals);
  leave(*pool, plan.workers, signals);
  for (const NodeWorker& worker : plan.workers) events.write({"left", {}, 0, worker.id, {}});
  pool.reset();
  if (const std::optional<Error> failure = told.failure()) return report(call, *failure);
  return kDone;
}

}  // namespace tenure::cli

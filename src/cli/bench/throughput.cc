// tenure bench throughput: sends tasks through a whole pool, from dispatch to done, and compares with the log alone.

#include <atomic>
#include <tenure/tenure.hpp>
#include <thread>

#include "base/shard.h"
#include "cli/bench/baseline.h"
#include "cli/bench/place.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "render/distribution.h"

namespace tenure::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kIdleJobs = 1000;
// Idle dispatches and bare hops are measured in alternating groups of this size, so that other load on the machine hits
// both alike.
constexpr int kIdleGroup = 20;
// The idle time before each dispatch and before each bare hop.
constexpr std::chrono::microseconds kIdle{200};
constexpr std::chrono::seconds kPatience{120};

struct Plan {
  std::uint64_t jobs = 200'000;
  std::uint64_t payload_bytes = 64;
  std::uint64_t keys = 1000;
  std::uint64_t nodes = 1;
  std::uint64_t shards = 1;
};

Result<Plan> plan_of(const Call& call) {
  Plan plan;
  if (Status sound = call.read_number("jobs", plan.jobs, 1, 100'000'000); !sound) return Failure(sound.error());
  if (Status sound = call.read_number("payload-bytes", plan.payload_bytes, 8, 1U << 20); !sound)
    return Failure(sound.error());
  if (Status sound = call.read_number("keys", plan.keys, 1, 10'000'000); !sound) return Failure(sound.error());
  if (Status sound = call.read_number("nodes", plan.nodes, 1, 64); !sound) return Failure(sound.error());
  if (Status sound = call.read_number("shards", plan.shards, 1, kShardsMax); !sound) return Failure(sound.error());
  return plan;
}

// When each job was dispatched, started and done. A job's number is at the start of its payload.
class Times {
 public:
  explicit Times(std::uint64_t jobs) : sent_(jobs), begun_(jobs), done_(jobs) {}

  static std::string payload(std::uint64_t number, std::uint64_t bytes) {
    std::string text(bytes, 'x');
    std::copy_n(reinterpret_cast<const char*>(&number), sizeof number, text.begin());
    return text;
  }
  void sent(std::uint64_t number) { sent_[number] = now(); }
  void begun(const std::string& payload) {
    std::uint64_t number = 0;
    std::copy_n(payload.begin(), sizeof number, reinterpret_cast<char*>(&number));
    if (number < begun_.size()) begun_[number] = now();
  }
  void done(std::uint64_t number) { done_[number] = now(); }

  void measure(Samples& start, Samples& done) const {
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      start.add(std::chrono::nanoseconds(begun_[i] - sent_[i]));
      done.add(std::chrono::nanoseconds(done_[i] - sent_[i]));
    }
  }

 private:
  static std::int64_t now() { return SteadyClock::now().time_since_epoch().count(); }

  std::vector<std::int64_t> sent_;
  std::vector<std::atomic<std::int64_t>> begun_;
  std::vector<std::int64_t> done_;
};

struct Outcome {
  double seconds = 0;
  Samples start;
  Samples done;
  Samples idle_start;
  Samples bare_hop;
  std::vector<RunLog> logs;  // by shard
};

// Dispatches as fast as the pool accepts, and waits for all ends.
Status run_all(Pool& pool, const Plan& plan, Times& times) {
  std::atomic<std::uint64_t> open = plan.jobs;
  std::atomic<std::uint64_t> failed = 0;
  std::atomic<bool> over = false;
  for (std::uint64_t i = 0; i < plan.jobs; ++i) {
    times.sent(i);
    Result<Ticket> ticket =
        pool.dispatch_task("key-" + std::to_string(i % plan.keys), Times::payload(i, plan.payload_bytes));
    while (!ticket && ticket.error().code == Errc::busy) {
      std::this_thread::yield();
      ticket = pool.dispatch_task("key-" + std::to_string(i % plan.keys), Times::payload(i, plan.payload_bytes));
    }
    if (!ticket) return Failure(ticket.error());
    ticket->on_done([&, i](const Result<std::string>& done) {
      times.done(i);
      if (!done) ++failed;
      if (--open == 0) {
        over = true;
        over.notify_all();
      }
    });
  }
  over.wait(false);
  if (failed != 0) return fail(Errc::job_failed, "bench", std::to_string(failed) + " jobs failed");
  return {};
}

// Dispatches one job at a time, each while the pool is idle.
Status run_idle(Pool& pool, const std::atomic<std::int64_t>& begun, Samples& start) {
  for (int i = 0; i < kIdleGroup; ++i) {
    std::this_thread::sleep_for(kIdle);
    const auto sent = SteadyClock::now();
    const Result<Ticket> ticket = pool.dispatch_task("idle", Times::payload(UINT64_MAX, 8));
    if (!ticket) return Failure(ticket.error());
    if (const auto done = ticket->wait_done(kPatience); !done) return Failure(done.error());
    start.add(std::chrono::nanoseconds(begun) - sent.time_since_epoch());
  }
  return {};
}

Result<Outcome> run(const Engine& engine, const BenchSpot& spot, const Plan& plan) {
  Times times(plan.jobs);
  std::vector<Pool> pools;
  PoolOptions options;
  options.shards = static_cast<std::uint32_t>(plan.shards);
  // All jobs may wait at once, since the bound counts until a handler has begun: with the default of 1000 a sender that
  // keeps more under way would be refused, and the test would measure the refusals.
  options.max_queued_jobs = static_cast<std::uint32_t>(plan.jobs + 1);
  std::atomic<std::int64_t> idle_begun = 0;
  bool idle = true;
  for (std::uint64_t i = 0; i < plan.nodes; ++i) {
    Result<Pool> pool = Pool::open(spot.pool, spot.url, options);
    if (!pool) return Failure(pool.error());
    const Result<Worker> worker = pool->add_worker([&](Job& job) {
      if (idle) idle_begun = SteadyClock::now().time_since_epoch().count();
      times.begun(job.payload());
    });
    if (!worker) return Failure(worker.error());
    pools.push_back(*std::move(pool));
  }
  Outcome outcome;
  for (int i = 0; i < kIdleJobs; i += kIdleGroup) {
    if (Status measured = run_idle(pools[0], idle_begun, outcome.idle_start); !measured)
      return Failure(measured.error());
    if (engine.measure_bare_hops == nullptr) continue;
    const Result<std::vector<Nanos>> bare = engine.measure_bare_hops(spot.url, kIdleGroup);
    if (!bare) return Failure(bare.error());
    for (const Nanos hop : *bare) outcome.bare_hop.add(hop);
  }
  idle = false;
  std::vector<LogTap> taps;
  for (std::uint32_t shard = 0; shard < plan.shards; ++shard) {
    Result<LogTap> tap = LogTap::begin(spot, {shard, options.shards});
    if (!tap) return Failure(tap.error());
    taps.push_back(*std::move(tap));
  }
  const auto began = SteadyClock::now();
  if (Status ran = run_all(pools[0], plan, times); !ran) return Failure(ran.error());
  outcome.seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  times.measure(outcome.start, outcome.done);
  for (LogTap& tap : taps) {
    Result<RunLog> log = tap.end();
    if (!log) return Failure(log.error());
    outcome.logs.push_back(*std::move(log));
  }
  return outcome;
}

}  // namespace

int run_bench_throughput(const Call& call) {
  const Result<Plan> plan = plan_of(call);
  if (!plan) return report_usage(call, plan.error());
  const Result<BenchPlace> place = BenchPlace::of(call);
  if (!place) return report(call, place.error());
  Result<Outcome> outcome = run(place->engine(), place->spot("pool"), *plan);
  if (!outcome) return report(call, outcome.error());
  Result<Baseline> baseline = measure_baseline(*place, outcome->logs);
  if (!baseline) return report(call, baseline.error());
  const double per_s = static_cast<double>(plan->jobs) / outcome->seconds;
  const double share = per_s / baseline->per_s;
  const Distribution start = outcome->start.distribution();
  const Distribution done = outcome->done.distribution();
  const Distribution idle_start = outcome->idle_start.distribution();
  const Distribution bare_hop = outcome->bare_hop.distribution();
  const Distribution log_hop = baseline->hop.distribution();
  const bool bare = bare_hop.n != 0;
  if (call.json()) {
    Json json;
    json.object().field("engine", place->shown()).field("jobs", plan->jobs).field("seconds", outcome->seconds);
    json.field("shards", plan->shards).field("jobs_per_s", per_s);
    render::write(json, "start_ms", start);
    render::write(json, "done_ms", done);
    render::write(json, "idle_start_ms", idle_start);
    json.object("baseline").field("what", baseline->what()).field("per_s", baseline->per_s);
    json.field("entries", baseline->entries).field("bytes", baseline->bytes);
    json.field("full_batches_bytes_per_s", baseline->full_batches_bytes_per_s);
    render::write(json, "hop_ms", bare ? bare_hop : log_hop);
    if (bare) render::write(json, "log_hop_ms", log_hop);
    json.end().field("share_of_baseline", share);
    if (bare) json.field("idle_start_in_hops", idle_start.p50 / bare_hop.p50);
    print(json.end());
    return kDone;
  }
  print(place->shown() + ": " + std::to_string(plan->jobs) + " tasks, " +
        std::to_string(static_cast<std::uint64_t>(per_s)) + " a second");
  print("  dispatch to start  " + render::text_of(start));
  print("  dispatch to done   " + render::text_of(done));
  print("  the same, idle     " + render::text_of(idle_start));
  print("  the log alone      " + std::to_string(static_cast<std::uint64_t>(baseline->per_s)) +
        " tasks a second in the " + std::to_string(baseline->entries) + " entries of this run; the pool reaches " +
        std::to_string(static_cast<int>(share * 100)) + " % of that; in full batches " +
        std::to_string(static_cast<std::uint64_t>(baseline->full_batches_bytes_per_s / (1 << 20))) + " MiB a second");
  print("  a hop of the log   " + render::text_of(log_hop));
  if (bare) print("  bare " + std::string(place->engine().bare_hop) + " " + render::text_of(bare_hop));
  return kDone;
}

}  // namespace tenure::cli

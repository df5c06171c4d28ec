// tenure bench takeover: kills real worker processes, and measures the time until their key runs elsewhere.

#include <memory>

#include "cli/bench/place.h"
#include "cli/bench/work_process.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "pool/pool_core.h"
#include "render/distribution.h"

namespace tenure::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kReplicasMax = 64;
const std::string kKey = "key";

struct TakeoverRun {
  std::string lease;
  std::uint64_t rounds = 0;
  bool known_death = true;
  std::uint64_t partitions = 0;  // none: a key of `tenure work`
};

Failure silent(const char* what) { return fail(Errc::timed_out, "bench", std::string("no worker reported ") + what); }

std::unique_ptr<WorkProcess> start_worker(const BenchSpot& spot, const TakeoverRun& run, const std::string& id,
                                          bool serves) {
  std::vector<std::string> words = {"work", "--id", id, "--lease", run.lease};
  if (!run.known_death) words.emplace_back("--no-known-death");
  if (serves) words.insert(words.end(), {"--serves", kKey});
  return std::make_unique<WorkProcess>(spot, std::move(words));
}

Status measure_key(const BenchSpot& spot, const TakeoverRun& run, Samples& takeovers) {
  CoreOptions options;
  options.url = spot.url;
  options.pool = spot.pool;
  options.client_only = true;
  const Result<std::unique_ptr<PoolCore>> client = PoolCore::open(options, nullptr);
  if (!client) return Failure(client.error());
  const auto heir = start_worker(spot, run, "heir", false);
  if (!heir->wait("ready", 1)) return silent("that it is ready");
  Request request;
  request.key = kKey;
  if (const Result<TicketPtr> ticket = (*client)->submit(request); !ticket) return Failure(ticket.error());
  if (!heir->wait("started", 1)) return silent("that the key is started");
  for (std::uint64_t round = 1; round <= run.rounds; ++round) {
    // It is named for the key with --serves, so it gets the key.
    const auto victim = start_worker(spot, run, "victim-" + std::to_string(round), true);
    if (!victim->wait("started", 1)) return silent("that the key is started");
    const std::size_t before = heir->count("started");
    const auto killed = SteadyClock::now();
    victim->kill(!run.known_death);
    const auto started = heir->wait("started", before + 1);
    if (!started) return silent("that the key is started");
    takeovers.add(*started - killed);
  }
  return {};
}

std::unique_ptr<WorkProcess> start_replica(const BenchSpot& spot, const TakeoverRun& run, std::uint64_t ordinal) {
  std::vector<std::string> words = {"partition", "--partitions",          std::to_string(run.partitions),
                                    "--ordinal", std::to_string(ordinal), "--lease",
                                    run.lease};
  if (!run.known_death) words.emplace_back("--no-known-death");
  return std::make_unique<WorkProcess>(spot, std::move(words));
}

// Kills one replica after the other. Its secondary, the next one, takes its partition, and it comes back.
Status measure_partitions(const BenchSpot& spot, const TakeoverRun& run, Samples& takeovers) {
  std::vector<std::unique_ptr<WorkProcess>> replicas;
  for (std::uint64_t i = 0; i < run.partitions; ++i) {
    replicas.push_back(start_replica(spot, run, i));
    if (!replicas.back()->wait("ready", 1)) return silent("that it is ready");
  }
  // A partition that a secondary has begun with goes to its primary when that one comes.
  for (const auto& replica : replicas) {
    if (!replica->wait("started", 1)) return silent("that its partition is started");
  }
  for (std::uint64_t round = 0; round < run.rounds; ++round) {
    const std::uint64_t victim = round % run.partitions;
    WorkProcess& heir = *replicas[(victim + 1) % run.partitions];
    const std::size_t before = heir.count("started");
    const auto killed = SteadyClock::now();
    replicas[victim]->kill(!run.known_death);
    const auto started = heir.wait("started", before + 1);
    if (!started) return silent("that the partition is started");
    takeovers.add(*started - killed);
    replicas[victim] = start_replica(spot, run, victim);
    if (!replicas[victim]->wait("started", 1)) return silent("that it has its partition again");
  }
  return {};
}

}  // namespace

int run_bench_takeover(const Call& call) {
  const Result<std::uint64_t> rounds = call.number("rounds", 20, 10'000);
  if (!rounds) return report_usage(call, rounds.error());
  const Result<std::chrono::milliseconds> lease = call.duration("lease", std::chrono::seconds(1));
  if (!lease) return report_usage(call, lease.error());
  TakeoverRun run{
      .lease = std::to_string(lease->count()) + "ms", .rounds = *rounds, .known_death = !call.has("no-known-death")};
  if (Status sound = call.read_number("partitions", run.partitions, 2, kReplicasMax); !sound) {
    return report_usage(call, sound.error());
  }
  const Result<BenchPlace> place = BenchPlace::of(call);
  if (!place) return report(call, place.error());
  if (place->reach() == Reach::process) {
    return report(
        call, {Errc::invalid, "bench", place->shown() + " belongs to one process, so no other process can take over"});
  }
  Samples takeovers;
  const BenchSpot spot = place->spot("pool");
  const Status ran = run.partitions != 0 ? measure_partitions(spot, run, takeovers) : measure_key(spot, run, takeovers);
  if (!ran) return report(call, ran.error());
  if (call.json()) {
    Json json;
    json.object()
        .field("engine", place->shown())
        .field("lease_ms", lease->count())
        .field("known_death", run.known_death);
    if (run.partitions != 0) json.field("partitions", run.partitions);
    render::write(json, "takeover_ms", takeovers.distribution());
    print(json.end());
  } else {
    const std::string what = run.partitions == 0 ? "" : ", " + std::to_string(run.partitions) + " replicas";
    print(place->shown() + what + ", lease " + run.lease + (run.known_death ? "" : ", only the lease") +
          ": from kill -9 to started elsewhere");
    print("  " + render::text_of(takeovers.distribution()));
  }
  return kDone;
}

}  // namespace tenure::cli

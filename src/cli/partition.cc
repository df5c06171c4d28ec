// tenure partition: replicas that hold the partitions of one batch job.

#include <cstdlib>
#include <tenure/partition.hpp>

#include "base/host_name.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/work_plan.h"
#include "exec/find_program.h"
#include "machine/backlog.h"
#include "machine/limits.h"
#include "machine/own_names.h"
#include "pool/partition_calls.h"
#include "render/partitions.h"

namespace tenure::cli {
namespace {

constexpr const char* kReadLine = "read the command line";
constexpr std::uint32_t kCuts = 4;

Result<std::uint32_t> ordinal_of(const Call& call, std::uint32_t partitions) {
  const std::string given = call.value("ordinal").value_or("auto");
  if (given != "auto") {
    const Result<std::uint64_t> number = call.number("ordinal", 0, UINT32_MAX - 1);
    if (!number) return misused("--ordinal needs a number from 0 to " + std::to_string(partitions - 1) + ", or auto");
    if (*number < partitions) return static_cast<std::uint32_t>(*number);
    return misused("--ordinal " + given + " is out of range: with --partitions " + std::to_string(partitions) +
                   ", ordinals go from 0 to " + std::to_string(partitions - 1));
  }
  const char* pod = std::getenv("TENURE_POD_NAME");
  const std::string name = pod != nullptr ? pod : host_name();
  const std::optional<std::uint32_t> ordinal = tenure::ordinal_of(name);
  if (!ordinal) {
    return misused("the name '" + name + "' does not end in an ordinal such as -3: give --ordinal, or TENURE_POD_NAME");
  }
  if (*ordinal < partitions) return *ordinal;
  return misused("the name '" + name + "' has the ordinal " + std::to_string(*ordinal) + ", and with --partitions " +
                 std::to_string(partitions) + ", ordinals go from 0 to " + std::to_string(partitions - 1));
}

// `ring` has what is not given.
Result<Ring> ring_of(const Call& call, Ring ring) {
  const Result<std::uint64_t> secondaries = call.number("secondaries", ring.secondaries, kPartitionsMax);
  if (!secondaries) return Failure(secondaries.error());
  const Result<std::chrono::milliseconds> settle = call.duration("settle", std::chrono::milliseconds(ring.settle_ms));
  if (!settle) return Failure(settle.error());
  const Result<std::uint64_t> surge = call.number("surge", ring.surge, kBacklogMax);
  if (!surge) return Failure(surge.error());
  const Result<std::uint64_t> cuts = call.number("cuts",
                                                 *surge == 0      ? 1
                                                 : ring.cuts == 1 ? kCuts
                                                                  : ring.cuts,
                                                 kCutsMax);
  if (!cuts) return Failure(cuts.error());
  ring.secondaries = static_cast<std::uint32_t>(*secondaries);
  ring.settle_ms = settle->count();
  ring.surge = *surge;
  ring.cuts = static_cast<std::uint32_t>(*cuts);
  if (Status sound = check_ring(ring, kReadLine); !sound) return Failure(sound.error());
  return ring;
}

Status make_ranked(const Call& call, WorkPlan& plan) {
  if (!call.has("partitions")) return misused("--partitions N is needed: how many partitions all replicas share");
  const Result<std::uint64_t> partitions = call.number("partitions", 0, kPartitionsMax);
  if (!partitions) return Failure(partitions.error());
  const auto count = static_cast<std::uint32_t>(*partitions);
  Result<Ring> ring =
      ring_of(call, {.partitions = count, .secondaries = count > 1 ? 1U : 0U, .anyone = call.has("anyone")});
  if (!ring) return Failure(ring.error());
  const Result<std::uint32_t> ordinal = ordinal_of(call, count);
  if (!ordinal) return Failure(ordinal.error());
  const Result<std::chrono::milliseconds> rest = call.duration("rest", std::chrono::seconds(1));
  if (!rest) return Failure(rest.error());
  const Result<std::chrono::milliseconds> turn = call.duration("turn", std::chrono::milliseconds(0));
  if (!turn) return Failure(turn.error());
  NodeWorker& worker = plan.workers.front();
  worker.takes = Takes::nothing();
  worker.takes.add_type(JobKind::resident, kPartitionType);
  worker.ring = *ring;
  worker.ordinal = *ordinal;
  // The guard is this program, too.
  std::vector<std::string> command{"/proc/self/exe", "turns", "--rest", std::to_string(rest->count()) + "ms"};
  if (call.has("turn")) {
    const std::string grace = std::to_string(plan.core.node.config.worker_shutdown_ttl_ms) + "ms";
    command.insert(command.end(), {"--turn", std::to_string(turn->count()) + "ms", "--grace", grace});
  }
  command.emplace_back("--exec");
  command.insert(command.end(), plan.programs.command.begin(), plan.programs.command.end());
  plan.programs.command = std::move(command);
  return {};
}

}  // namespace

int run_partition(const Call& call) {
  if (call.rest.empty()) return report_usage(call, {Errc::invalid, "", "--exec CMD… is needed"});
  if (const Status found = exec::find_program(call.rest.front()); !found) {
    return report_usage(call, {Errc::invalid, "", found.error().context + "; --exec needs a program that exists"});
  }
  Result<WorkPlan> plan = work_plan(call);
  if (!plan) return report_usage(call, plan.error());
  if (const Status ranked = make_ranked(call, *plan); !ranked) return report_usage(call, ranked.error());
  WorkEvents events(call.json());
  return run_work_plan(call, *plan, events);
}

int run_partition_status(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call);
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  const Result<PartitionListing> listing = list_partitions(**pool, *deadline);
  if (!listing) return report(call, listing.error());
  if (call.json()) {
    print(render::json_of_partitions(listing->partitions));
    return kDone;
  }
  print(render::table_of_partitions(listing->partitions));
  if (listing->partitions.empty()) {
    print_note("the pool has no partitions; start with: tenure partition --partitions N --exec CMD");
  } else {
    print_note(to_text(listing->ring));
  }
  return kDone;
}

int run_partition_resize(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call);
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::uint64_t> partitions = read_number(call.words[0], kPartitionsMax);
  if (!partitions) return report_usage(call, partitions.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  const Result<PartitionListing> listing = list_partitions(**pool, *deadline);
  if (!listing) return report(call, listing.error());
  if (listing->ring.partitions == 0) {
    return report(call, {Errc::no_such_key, "resize partitions", "the pool has no partitions"});
  }
  const std::uint32_t before = listing->ring.partitions;
  Ring ring = listing->ring;
  ring.partitions = static_cast<std::uint32_t>(*partitions);
  if (!call.has("secondaries") && ring.partitions != 0) {
    ring.secondaries = std::min(ring.secondaries, ring.partitions - 1);
  }
  if (const auto anyone = call.value("anyone")) {
    if (*anyone != "yes" && *anyone != "no") return report_usage(call, misused("--anyone needs yes or no").error());
    ring.anyone = *anyone == "yes";
  }
  const Result<Ring> wanted = ring_of(call, ring);
  if (!wanted) return report_usage(call, wanted.error());
  if (const Status set = set_partitions(**pool, *wanted, *deadline); !set) return report(call, set.error());
  if (call.json()) {
    Json json;
    print(json.object()
              .field("partitions", wanted->partitions)
              .field("partitions_before", before)
              .field("secondaries", wanted->secondaries)
              .field("settle_ms", wanted->settle_ms)
              .field("anyone", wanted->anyone)
              .field("surge", wanted->surge)
              .field("cuts", wanted->cuts)
              .end());
  } else {
    print(std::to_string(before) + " partitions before; now " + to_text(*wanted));
  }
  return kDone;
}

}  // namespace tenure::cli

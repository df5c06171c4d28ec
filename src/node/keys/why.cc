#include "node/keys/why.h"

#include <algorithm>
#include <string>

#include "base/show_ms.h"
#include "machine/own_names.h"

namespace tenure {
namespace {

// "residents of type 'x'", "tasks without a type", or all "tasks" if no worker takes any.
Bytes name_of(const JobInfo& job, bool any_of_kind) {
  const Bytes kind = Bytes(to_string(job.kind)) + "s";
  if (!job.type.empty()) return kind + " of type '" + Bytes(job.type) + "'";
  return any_of_kind ? kind + " without a type" : kind;
}

// A queued job that no worker is to hold.
Bytes why_no_target(const Machine& machine, const JobInfo& job) {
  bool open = false;
  bool of_kind = false;
  bool taken = false;
  for (const WorkerIx ix : machine.workers().by_age) {
    const PoolWorker& worker = machine.workers()[ix];
    if (!worker.open()) continue;
    open = true;
    of_kind = of_kind || worker.takes.any(job.kind);
    taken = taken || worker.takes.has(job.kind, job.type);
  }
  if (!open) return machine.workers().by_age.empty() ? "there is no worker" : "every worker is draining or unfit";
  if (!taken) return "no worker takes " + name_of(job, of_kind);
  return "the assignment function has not chosen a worker";
}

// A partition that no worker is to hold.
Bytes why_no_rank(const Machine& machine, std::uint32_t part) {
  const Ring& ring = machine.config().ring;
  if (ring.anyone) return "no ranked worker is in the pool, or all of them are draining or unfit";
  if (part >= ring.parts()) return "the number of partitions is being changed";
  const std::uint32_t partition = partition_of_part(ring, part);
  Bytes text = "the worker with ordinal " + std::to_string(partition);
  for (std::uint32_t i = 1; i <= ring.secondaries; ++i) {
    text += (i == ring.secondaries ? " and " : ", ") + std::to_string((partition + i) % ring.partitions);
  }
  if (ring.secondaries == 0) return text + " is away, draining or unfit, and there are no secondaries";
  return text.replace(4, 6, "workers").replace(text.find("ordinal "), 7, "ordinals") + " are away, draining or unfit";
}

Bytes why_queued(const Machine& machine, const JobInfo& job) {
  const WorkerIx ix = job.target.empty() ? kNone : machine.workers().find(job.target);
  if (ix == kNone) return why_no_target(machine, job);
  const PoolWorker& worker = machine.workers()[ix];
  const Bytes name = "worker '" + worker.id + "'";
  if (job.kind == JobKind::task && worker.tasks_held >= worker.window) {
    return name + " has " + std::to_string(worker.tasks_held) + " tasks, and takes no more at a time";
  }
  if (job.kind == JobKind::resident && worker.starting >= kStartingMax) {
    return name + " is starting " + std::to_string(worker.starting) + " others";
  }
  return name + " is to get it";
}

}  // namespace

Bytes WhyWaiting::queued(const JobInfo& job) {
  if (job.type == kPartitionType && job.target.empty()) {
    return why_no_rank(machine_, partition_of_key(job.key).value_or(kNoOrdinal));
  }
  const auto [known, added] = queued_.try_emplace({job.kind, job.target, job.type});
  if (added) known->second = why_queued(machine_, job);
  return known->second;
}

Bytes WhyWaiting::of(const JobInfo& job) {
  switch (job.state) {
    case JobState::queued: return queued(job);
    case JobState::waiting: {
      const Bytes left = show_ms(std::max<std::int64_t>(job.due_ms - machine_.log_time_ms(), 0));
      if (job.attempt == 1) return "it is due in " + left;
      return "attempt " + std::to_string(job.attempt - 1) + " failed; the next is due in " + left;
    }
    case JobState::idle: return "its tasks are not due yet";
    default: return {};
  }
}

}  // namespace tenure

// The partitions of a run's pool: its ranked workers, and changes of the ring.

#include "machine/own_names.h"
#include "sim/pool/pool_run.h"
#include "sim/pool/tastes.h"
#include "tenure/v1/record.pb.h"

namespace tenure::sim {

// The operator starts processes with what the pool has.
Ring PoolRun::present_ring() const {
  const Ring& present = onlooker_.machine().config().ring;
  return present.partitions != 0 ? present : plan_.ring;
}

NodeWorker PoolRun::ranked_worker(const Seat& seat) {
  NodeWorker worker;
  worker.id = seat.name + kRankedWorker;
  const std::string takes = "resident:" + Bytes(kPartitionType);
  worker.takes = to_takes({takes});
  worker.isolates = plan_.isolates;
  worker.ring = present_ring();
  worker.ordinal = seat.number;
  recorder_.add(WorkerTakes{seat.process->number(), worker.id, {takes}});
  recorder_.add(WorkerRanked{seat.process->number(), worker.id, worker.ordinal});
  return worker;
}

void PoolRun::plan_resize() {
  if (plan_.resize_every == 0 || plan_.ring.partitions == 0) return;
  world_.after(ring_.between(0, 2 * plan_.resize_every), [this] {
    if (healed_) return;
    resize();
    plan_resize();
  });
}

// As a caller does who dies right after.
void PoolRun::resize() {
  if (wires_.down() || onlooker_.machine().config().ring.partitions == 0) return;
  Ring ring = onlooker_.machine().config().ring;
  ring.partitions = plan_.nodes + static_cast<std::uint32_t>(ring_.below(2));
  ring.secondaries = 1 + static_cast<std::uint32_t>(ring_.below(2));
  v1::Batch batch;
  batch.set_format(1);
  batch.set_sender(ring_.next() | 1);
  batch.set_sequence(1);
  v1::SetPartitions& record = *batch.add_records()->mutable_set_partitions();
  record.set_ticket(ring_.next() | 1);
  encode_ring(ring, *record.mutable_ring());
  onlooker_.ignore(record.ticket());
  server_.append(batch.SerializeAsString());
  wires_.poke();
}

bool PoolRun::all_with_primaries() const {
  const Machine& machine = onlooker_.machine();
  for (const WorkerIx ix : machine.workers().by_age) {
    const PoolWorker& worker = machine.workers()[ix];
    const Ring& ring = machine.config().ring;
    if (worker.ordinal >= ring.partitions) continue;
    for (std::uint32_t part = worker.ordinal; part < ring.parts(); part += ring.partitions) {
      const auto job = machine.find(partition_key(part));
      if (!job) return false;
      const bool dead = job->state == JobState::dead || job->state == JobState::quarantined;
      if (!dead && job->worker != worker.id) return false;
    }
  }
  return true;
}

}  // namespace tenure::sim

#include "node/keys/partition_listing.h"

#include <algorithm>

#include "machine/backlog.h"
#include "machine/own_names.h"
#include "node/keys/why.h"
#include "tenure/v1/listings.pb.h"

namespace tenure {

void list_partitions(const Machine& machine, v1::Told& told) {
  const Ring& ring = machine.config().ring;
  if (ring.partitions == 0) return;
  encode_ring(ring, *told.mutable_ring());
  WhyWaiting why(machine);
  for (std::uint32_t partition = 0; partition < ring.parts(); ++partition) {
    v1::ListedPartition& listed = *told.add_partitions();
    listed.set_partition(partition);
    const std::optional<JobInfo> job = machine.find(partition_key(partition));
    if (!job) {
      listed.set_why("the number of partitions is being changed");
      continue;
    }
    listed.set_worker(Bytes(job->worker));
    listed.set_epoch(job->epoch);
    listed.set_since_ms(std::max<std::int64_t>(machine.log_time_ms() - job->since_ms, 0));
    listed.set_state(static_cast<std::uint32_t>(job->state));
    listed.set_why(why.of(*job));
    listed.set_error(Bytes(job->error));
    if (const auto backlog = read_backlog(job->checkpoint)) listed.set_backlog_plus_one(*backlog + 1);
    listed.set_lent(job->lent);
    const WorkerIx ix = job->worker.empty() ? kNone : machine.workers().find(job->worker);
    if (ix == kNone) continue;
    const std::uint32_t ordinal = machine.workers()[ix].ordinal;
    listed.set_ordinal_plus_one(ordinal + 1);
    const Rank rank = rank_of(ring, partition, ordinal);
    listed.set_role(rank == Rank::none ? 3 : static_cast<std::uint32_t>(rank) + 1);
  }
}

}  // namespace tenure

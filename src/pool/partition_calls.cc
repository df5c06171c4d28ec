#include "pool/partition_calls.h"

#include "pool/pool_impl.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;

PartitionInfo partition_info(const v1::ListedPartition& listed) {
  PartitionInfo info{.partition = listed.partition(),
                     .worker = listed.worker(),
                     .ordinal = {},
                     .role = static_cast<PartitionRole>(listed.role()),
                     .epoch = listed.epoch(),
                     .backlog = {},
                     .state = static_cast<JobState>(listed.state()),
                     .in_state = milliseconds(listed.since_ms()),
                     .why = listed.why(),
                     .error = listed.error(),
                     .lent = listed.lent()};
  if (listed.ordinal_plus_one() != 0) info.ordinal = listed.ordinal_plus_one() - 1;
  if (listed.backlog_plus_one() != 0) info.backlog = listed.backlog_plus_one() - 1;
  return info;
}

}  // namespace

// Pools with partitions have one shard.
Result<PartitionListing> list_partitions(Shards& shards, Deadline deadline) {
  v1::Ask ask;
  ask.mutable_partitions();
  const Result<v1::Told> told = shards.inquire(0, ask, deadline);
  if (!told) return Failure(told.error());
  PartitionListing listing;
  if (!told->has_ring() || !load_ring(told->ring(), listing.ring)) return listing;
  for (const v1::ListedPartition& listed : told->partitions()) listing.partitions.push_back(partition_info(listed));
  return listing;
}

Status set_partitions(Shards& shards, const Ring& ring, Deadline deadline) {
  Request request;
  request.kind = Request::Kind::set_partitions;
  request.ring = ring;
  const Result<TicketPtr> ticket = shards.submit_to(0, request);
  if (!ticket) return Failure(ticket.error());
  if (!(*ticket)->wait(Stage::accepted, deadline)) return Failure(shards.late("set partitions"));
  return (*ticket)->outcome(Stage::accepted);
}

Result<std::vector<PartitionInfo>> Pool::partitions(Timeout timeout) const {
  Result<PartitionListing> listing = list_partitions(impl_->shards(), after(timeout));
  if (!listing) return Failure(listing.error());
  return std::move(listing->partitions);
}

Result<PartitionRing> Pool::partition_ring(Timeout timeout) const {
  const Result<PartitionListing> listing = list_partitions(impl_->shards(), after(timeout));
  if (!listing) return Failure(listing.error());
  const Ring& ring = listing->ring;
  return PartitionRing{.partitions = ring.partitions,
                       .secondaries = ring.secondaries,
                       .settle = milliseconds(ring.settle_ms),
                       .anyone = ring.anyone,
                       .cuts = ring.cuts,
                       .surge = ring.surge};
}

Status Pool::set_partitions(const PartitionRing& ring, Timeout timeout) {
  const Ring wanted{.partitions = ring.partitions,
                    .secondaries = ring.secondaries,
                    .settle_ms = ring.settle.count(),
                    .anyone = ring.anyone,
                    .cuts = ring.cuts,
                    .surge = ring.surge};
  return tenure::set_partitions(impl_->shards(), wanted, after(timeout));
}

}  // namespace tenure

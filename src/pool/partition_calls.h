#pragma once

// Looks at the partitions of a pool, and changes them.

#include <tenure/listing.hpp>
#include <vector>

#include "machine/config.h"
#include "pool/shards.h"

namespace tenure {

struct PartitionListing {
  Ring ring;  // without partitions: the pool has none
  std::vector<PartitionInfo> partitions;
};

Result<PartitionListing> list_partitions(Shards& shards, Deadline deadline);
Status set_partitions(Shards& shards, const Ring& ring, Deadline deadline);

}  // namespace tenure

#pragma once

// The listing of partitions, for people and as JSON.

#include <tenure/listing.hpp>
#include <vector>

#include "render/json.h"
#include "render/table.h"

namespace tenure::render {

Json json_of_partitions(const std::vector<PartitionInfo>& partitions);
Table table_of_partitions(const std::vector<PartitionInfo>& partitions);

}  // namespace tenure::render

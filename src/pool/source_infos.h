#pragma once

// The listing of sources: puts together what the shards have of each, and the sequences of each partition.

#include <map>
#include <tenure/listing.hpp>
#include <vector>

#include "base/bytes.h"

namespace tenure {

namespace v1 {
class ListedSource;
}  // namespace v1

// `listed`: see Shards::list_sources().
std::vector<SourceInfo> source_infos(const std::map<Bytes, std::vector<v1::ListedSource>>& listed,
                                     std::uint32_t shards);

}  // namespace tenure

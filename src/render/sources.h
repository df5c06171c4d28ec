#pragma once

// The listing of sources, for people and as JSON.

#include <cstdint>
#include <string>
#include <tenure/listing.hpp>
#include <vector>

#include "render/json.h"
#include "render/table.h"

namespace tenure::render {

struct SourceRow {
  SourceInfo info{};
  std::string holder{};  // the worker that reads it now
  std::uint64_t holder_epoch = 0;
  std::string why{};  // why nobody reads it
};

// "orders/3", or the name alone.
std::string name_of(const SourceRow& row);
// The rows are ordered by name.
Json json_of_sources(const std::vector<SourceRow>& rows);
Table table_of_sources(const std::vector<SourceRow>& rows);

}  // namespace tenure::render

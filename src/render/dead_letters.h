#pragma once

// Renders a listing of dead letters as JSON and as rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "render/json.h"
#include "render/table.h"

namespace tenure::v1 {
class ListedDead;
}  // namespace tenure::v1

namespace tenure::render {

// {"dead":[{"id","key","kind","state","epoch","age_ms","error"}],"next"}
// `next`: the id after which to go on; nothing after the last page.
Json json_of_dead(const std::vector<v1::ListedDead>& dead, std::optional<std::uint64_t> next);
Table table_of_dead(const std::vector<v1::ListedDead>& dead);

}  // namespace tenure::render

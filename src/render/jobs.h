#pragma once

// Renders a listing of jobs as JSON and as rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "render/json.h"
#include "render/table.h"

namespace tenure::v1 {
class ListedJob;
}  // namespace tenure::v1

namespace tenure::render {

// {"position","jobs":[{"key","kind","type","state","worker","epoch","attempt","since_ms","why"}],"next"}
// `next`: where to go on; nothing after the last page.
Json json_of_jobs(std::uint64_t position, const std::vector<v1::ListedJob>& jobs, std::optional<std::uint64_t> next);
Table table_of_jobs(const std::vector<v1::ListedJob>& jobs);

}  // namespace tenure::render

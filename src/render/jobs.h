#pragma once

// Renders a listing of jobs as JSON and as rows.

#include <cstdint>
#include <vector>

#include "render/json.h"
#include "render/table.h"

namespace tenure::v1 {
class ListedJob;
}  // namespace tenure::v1

namespace tenure::render {

// {"position","jobs":[{"key","kind","state","worker","epoch","attempt","since_ms"}]}
Json json_of_jobs(std::uint64_t position, const std::vector<v1::ListedJob>& jobs);
Table table_of_jobs(const std::vector<v1::ListedJob>& jobs);

}  // namespace tenure::render

#pragma once

// Renders a listing of workers as JSON and as rows.

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "render/json.h"
#include "render/table.h"

namespace tenure::v1 {
class Told;
}  // namespace tenure::v1

namespace tenure::render {

struct WorkerRow {
  Bytes id;
  Bytes node;
  Bytes host;
  std::uint32_t pid = 0;
  bool draining = false;
  std::uint64_t keys = 0;
  std::uint64_t tasks = 0;
  std::int64_t lease_ms = 0;
  std::int64_t lease_left_ms = 0;
  std::int64_t age_ms = 0;
  Bytes takes{};  // as `work --takes` has it; empty: every job
  bool unfit = false;
  Bytes error{};  // of the last start that failed there
};

// Adds one shard's report on its workers. A worker is in every shard, with some of its keys in each. Its lease ends
// with the first of its sessions.
void add_workers(const v1::Told& told, std::vector<WorkerRow>& rows);

// {"position","workers":[{"id","node","pid","host","state","keys","tasks_running","lease_ms","lease_left_ms","age_ms",
// "error","takes"}]}
Json json_of_workers(std::uint64_t position, const std::vector<WorkerRow>& rows);
Table table_of_workers(const std::vector<WorkerRow>& rows);

}  // namespace tenure::render

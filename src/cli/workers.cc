// tenure workers: who is in the pool.

#include <algorithm>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/table.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

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
};

// A worker is in every shard, with some of its keys in each, and lives as long as the first of its sessions.
void add_rows(const v1::Told& told, std::vector<WorkerRow>& rows) {
  for (const v1::ListedWorker& worker : told.workers()) {
    const auto known =
        std::find_if(rows.begin(), rows.end(), [&](const WorkerRow& row) { return row.id == worker.id(); });
    if (known == rows.end()) {
      rows.push_back({worker.id(), worker.node(), worker.host(), worker.pid(), worker.draining(), worker.keys(),
                      worker.tasks(), worker.lease_ms(), worker.lease_left_ms(), worker.age_ms()});
      continue;
    }
    known->draining = known->draining || worker.draining();
    known->keys += worker.keys();
    known->tasks += worker.tasks();
    known->lease_left_ms = std::min(known->lease_left_ms, worker.lease_left_ms());
    known->age_ms = std::max(known->age_ms, worker.age_ms());
  }
}

}  // namespace

int run_workers(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  v1::Ask ask;
  ask.mutable_workers();
  std::vector<WorkerRow> rows;
  Position position = 0;
  for (std::uint32_t i = 0; i < (*pool)->count(); ++i) {
    const Result<v1::Told> told = (*pool)->inquire(i, ask, *deadline);
    if (!told) return report(call, told.error());
    position += told->position();
    add_rows(*told, rows);
  }
  if (call.json()) {
    Json json;
    json.object().field("position", position).array("workers");
    for (const WorkerRow& row : rows) {
      json.object().field("id", row.id).field("node", row.node).field("pid", row.pid).field("host", row.host);
      json.field("state", row.draining ? "draining" : "open").field("keys", row.keys);
      json.field("tasks_running", row.tasks).field("lease_ms", row.lease_ms);
      json.field("lease_left_ms", row.lease_left_ms).field("age_ms", row.age_ms).end();
    }
    print(json.end().end());
    return kDone;
  }
  Table table({"WORKER", "NODE", "HOST", "PID", "STATE", "KEYS", "TASKS", "LEASE", "LEFT", "AGE"});
  for (const WorkerRow& row : rows) {
    table.add({row.id, row.node, row.host, std::to_string(row.pid), row.draining ? "draining" : "open",
               std::to_string(row.keys), std::to_string(row.tasks), show_ms(row.lease_ms), show_ms(row.lease_left_ms),
               show_ms(row.age_ms)});
  }
  table.print();
  if (rows.empty()) say("nobody works in this pool: tenure work --exec CMD");
  return kDone;
}

}  // namespace tenure::cli

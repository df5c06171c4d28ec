#include "render/workers.h"

#include <algorithm>
#include <string>

#include "base/show_ms.h"
#include "tenure/v1/record.pb.h"

namespace tenure::render {
namespace {

const char* state_of(const WorkerRow& row) { return row.draining ? "draining" : row.unfit ? "unfit" : "open"; }

Bytes takes_of(const v1::ListedWorker& worker) {
  Bytes all;
  for (const Bytes& taken : worker.takes()) all += (all.empty() ? "" : ",") + taken;
  return all;
}

}  // namespace

void add_workers(const v1::Told& told, std::vector<WorkerRow>& rows) {
  for (const v1::ListedWorker& worker : told.workers()) {
    const auto known =
        std::find_if(rows.begin(), rows.end(), [&](const WorkerRow& row) { return row.id == worker.id(); });
    if (known == rows.end()) {
      rows.push_back({worker.id(), worker.node(), worker.host(), worker.pid(), worker.draining(), worker.keys(),
                      worker.tasks(), worker.lease_ms(), worker.lease_left_ms(), worker.age_ms(), takes_of(worker),
                      worker.unfit(), worker.error()});
      continue;
    }
    known->draining = known->draining || worker.draining();
    known->unfit = known->unfit || worker.unfit();
    if (!worker.error().empty()) known->error = worker.error();
    known->keys += worker.keys();
    known->tasks += worker.tasks();
    known->lease_left_ms = std::min(known->lease_left_ms, worker.lease_left_ms());
    known->age_ms = std::max(known->age_ms, worker.age_ms());
  }
}

Json json_of_workers(std::uint64_t position, const std::vector<WorkerRow>& rows) {
  Json json;
  json.object().field("position", position).array("workers");
  for (const WorkerRow& row : rows) {
    json.object().field("id", row.id).field("node", row.node).field("pid", row.pid).field("host", row.host);
    json.field("state", state_of(row)).field("keys", row.keys);
    json.field("tasks_running", row.tasks).field("lease_ms", row.lease_ms);
    json.field("lease_left_ms", row.lease_left_ms).field("age_ms", row.age_ms);
    row.error.empty() ? json.null("error") : json.field("error", row.error);
    row.takes.empty() ? json.null("takes") : json.field("takes", row.takes);
    json.end();
  }
  return json.end().end();
}

Table table_of_workers(const std::vector<WorkerRow>& rows) {
  Table table({"WORKER", "NODE", "HOST", "PID", "STATE", "KEYS", "TASKS", "LEASE", "LEFT", "AGE", "TAKES"});
  for (const WorkerRow& row : rows) {
    table.add({row.id, row.node, row.host, std::to_string(row.pid), state_of(row), std::to_string(row.keys),
               std::to_string(row.tasks), show_ms(row.lease_ms), show_ms(row.lease_left_ms), show_ms(row.age_ms),
               row.takes.empty() ? "all" : row.takes});
  }
  return table;
}

}  // namespace tenure::render

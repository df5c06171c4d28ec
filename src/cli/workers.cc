// tenure workers: who is in the pool.

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/table.h"

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

// When each session was last heard of, in the engine's time. On the loop.
class Beats final : public NodeEvents, private Effects {
 public:
  Effects* watcher() override { return this; }
  void applied(const Machine& machine) override {
    now_ms_ = machine.engine_ms();
    for (const std::uint64_t session : fresh_) heard_ms_[session] = now_ms_;
    fresh_.clear();
  }
  // Of one that was not heard of since this process reads, only its lease is known.
  std::int64_t left_ms(std::uint64_t session, std::int64_t lease_ms) const {
    const auto found = heard_ms_.find(session);
    return found == heard_ms_.end() ? lease_ms : std::max<std::int64_t>(lease_ms - (now_ms_ - found->second), 0);
  }

 private:
  void joined(std::uint64_t session) override { fresh_.push_back(session); }
  void beaten(std::uint64_t session, std::uint64_t /*number*/, std::uint64_t /*digest_position*/,
              std::uint64_t /*digest*/) override {
    fresh_.push_back(session);
  }

  std::vector<std::uint64_t> fresh_;  // in the entry that is being applied
  std::map<std::uint64_t, std::int64_t> heard_ms_;
  std::int64_t now_ms_ = 0;
};

// A worker is in every shard, with some of its keys in each, and lives as long as the first of its sessions.
void add_rows(const Machine& machine, const Beats& beats, std::vector<WorkerRow>& rows) {
  const Roster& roster = machine.roster();
  for (const WorkerIx ix : roster.by_age) {
    const RosterWorker& worker = roster.workers[ix];
    const Session* session = roster.session(worker.session);
    if (session == nullptr) continue;
    const std::int64_t left_ms = beats.left_ms(session->id, session->lease_ms);
    const std::int64_t age_ms = std::max<std::int64_t>(machine.log_time_ms() - worker.joined_ms, 0);
    const auto known =
        std::find_if(rows.begin(), rows.end(), [&](const WorkerRow& row) { return row.id == worker.id; });
    if (known == rows.end()) {
      rows.push_back({worker.id, session->node, session->host, session->pid, worker.draining, worker.keys_held,
                      worker.tasks_held, session->lease_ms, left_ms, age_ms});
      continue;
    }
    known->draining = known->draining || worker.draining;
    known->keys += worker.keys_held;
    known->tasks += worker.tasks_held;
    known->lease_left_ms = std::min(known->lease_left_ms, left_ms);
    known->age_ms = std::max(known->age_ms, age_ms);
  }
}

}  // namespace

int run_workers(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  std::deque<Beats> beats;  // by shard
  const Result<std::unique_ptr<Shards>> pool = follow(call, [&](std::uint32_t) { return &beats.emplace_back(); });
  if (!pool) return report(call, pool.error());
  std::vector<WorkerRow> rows;
  Position position = 0;
  for (std::uint32_t i = 0; i < (*pool)->count(); ++i) {
    const auto look = [&](const Machine& machine) {
      position += machine.position();
      add_rows(machine, beats[i], rows);
    };
    if (const Status looked = (*pool)->look_at(i, look, *deadline); !looked) return report(call, looked.error());
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
    print(json.end().end().text());
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

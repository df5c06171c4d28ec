// tenure jobs: what the keys are doing.

#include <algorithm>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/table.h"

namespace tenure::cli {
namespace {

// Keys that are looked at while the node's loop waits.
constexpr std::size_t kAtOnce = 50'000;

struct JobRow {
  Bytes key;
  JobKind kind;
  JobState state;
  Bytes worker;
  std::uint64_t epoch;
  std::uint32_t attempt;
  std::int64_t since_ms;
};

struct Wanted {
  std::string prefix;
  std::string worker;
  std::string state;
  std::uint64_t limit;

  bool takes(const JobInfo& job) const {
    return job.key.starts_with(prefix) && (worker.empty() || job.worker == worker) &&
           (state.empty() || to_string(job.state) == state);
  }
};

// `position` is added to.
Status collect(Shards& pool, std::uint32_t shard, const Wanted& wanted, Deadline deadline, std::vector<JobRow>& rows,
               Position& position) {
  SlotId from = 0;
  Position seen_at = 0;
  while (from != kNone && rows.size() < wanted.limit) {
    SlotId next = kNone;  // where the shard is gone, there is nothing to be seen
    const Status looked = pool.look_at(
        shard,
        [&](const Machine& machine) {
          seen_at = machine.position();
          std::size_t seen = 0;
          next = machine.each_job(from, [&](const JobInfo& job) {
            if (wanted.takes(job)) {
              const std::int64_t since = std::max<std::int64_t>(machine.log_time_ms() - job.since_ms, 0);
              rows.push_back({Bytes(job.key), job.kind, job.state, Bytes(job.worker), job.epoch, job.attempt, since});
            }
            return rows.size() < wanted.limit && ++seen < kAtOnce;
          });
        },
        deadline);
    if (!looked) return looked;
    from = next;
  }
  position += seen_at;
  return {};
}

std::string as_json(const std::vector<JobRow>& rows, Position position) {
  Json json;
  json.object().field("position", position).array("jobs");
  for (const JobRow& row : rows) {
    json.object().field("key", row.key).field("kind", to_string(row.kind)).field("state", to_string(row.state));
    row.worker.empty() ? json.null("worker") : json.field("worker", row.worker);
    row.epoch == 0 ? json.null("epoch") : json.field("epoch", row.epoch);
    json.field("attempt", row.attempt).field("since_ms", row.since_ms).end();
  }
  return json.end().end().text();
}

}  // namespace

int run_jobs(const Call& call) {
  const Result<std::uint64_t> limit = call.number("limit", 100, 100'000'000);
  if (!limit) return report_usage(call, limit.error());
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  const Wanted wanted{call.value("prefix").value_or(""), call.value("worker").value_or(""),
                      call.value("state").value_or(""), *limit};
  const Result<std::unique_ptr<Shards>> pool = follow(call);
  if (!pool) return report(call, pool.error());
  std::vector<JobRow> rows;
  Position position = 0;
  for (std::uint32_t i = 0; i < (*pool)->count(); ++i) {
    const Status collected = collect(**pool, i, wanted, *deadline, rows, position);
    if (!collected) return report(call, collected.error());
  }
  std::sort(rows.begin(), rows.end(), [](const JobRow& a, const JobRow& b) { return a.key < b.key; });
  if (call.json()) {
    print(as_json(rows, position));
    return kDone;
  }
  Table table({"KEY", "KIND", "STATE", "WORKER", "EPOCH", "ATTEMPT", "SINCE"});
  for (const JobRow& row : rows) {
    table.add({row.key, std::string(to_string(row.kind)), std::string(to_string(row.state)), row.worker,
               row.epoch == 0 ? "" : std::to_string(row.epoch), std::to_string(row.attempt), show_ms(row.since_ms)});
  }
  table.print();
  if (rows.size() == wanted.limit) say("there may be more: --limit N");
  return kDone;
}

}  // namespace tenure::cli

// tenure dead: what is out of attempts, and what is to become of it.

#include <algorithm>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/table.h"

namespace tenure::cli {
namespace {

struct DeadRow {
  std::uint64_t id;
  Bytes key;
  JobKind kind;
  bool quarantined;
  std::uint64_t epoch;
  std::int64_t age_ms;
  Bytes error;
};

std::string first_line(const std::string& text) {
  constexpr std::size_t kShown = 60;
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() <= kShown ? line : line.substr(0, kShown) + "…";
}

int settle(const Call& call, Request::Kind kind, std::string_view done) {
  const Result<std::uint64_t> id = read_number(call.words[0], UINT64_MAX);
  if (!id) return report_usage(call, id.error());
  const Result<Deadline> deadline = deadline_of(call);
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  Request request;
  request.kind = kind;
  request.dead_id = *id;
  const Result<TicketPtr> ticket = (*pool)->submit(request);
  if (!ticket) return report(call, ticket.error());
  if (!(*ticket)->wait(Stage::accepted, *deadline)) {
    return report(call, (*pool)->late((*ticket)->operation()));
  }
  if (const Status outcome = (*ticket)->outcome(Stage::accepted); !outcome) return report(call, outcome.error());
  if (call.json()) {
    Json json;
    print(json.object().field("id", *id).field("state", done).end().text());
  } else {
    print(std::to_string(*id) + " " + std::string(done));
  }
  return kDone;
}

}  // namespace

int run_dead_list(const Call& call) {
  const Result<std::uint64_t> limit = call.number("limit", 100, 1'000'000);
  if (!limit) return report_usage(call, limit.error());
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = follow(call);
  if (!pool) return report(call, pool.error());
  std::vector<DeadRow> rows;
  const Status looked = (*pool)->look(
      [&](const Machine& machine) {
        std::size_t taken = 0;
        for (const auto& [id, letter] : machine.dead()) {
          if (taken++ == *limit) break;
          rows.push_back({id, letter.key, letter.kind, letter.quarantined, letter.epoch,
                          std::max<std::int64_t>(machine.log_time_ms() - letter.since_ms, 0), letter.error});
        }
      },
      *deadline);
  if (!looked) return report(call, looked.error());
  std::sort(rows.begin(), rows.end(), [](const DeadRow& a, const DeadRow& b) { return a.id < b.id; });
  if (rows.size() > *limit) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(*limit), rows.end());
  if (call.json()) {
    Json json;
    json.object().array("dead");
    for (const DeadRow& row : rows) {
      json.object().field("id", row.id).field("key", row.key).field("kind", to_string(row.kind));
      json.field("state", row.quarantined ? "quarantined" : "dead").field("epoch", row.epoch);
      json.field("age_ms", row.age_ms).field("error", row.error).end();
    }
    print(json.end().end().text());
    return kDone;
  }
  Table table({"ID", "KEY", "KIND", "STATE", "AGE", "ERROR"});
  for (const DeadRow& row : rows) {
    table.add({std::to_string(row.id), row.key, std::string(to_string(row.kind)),
               row.quarantined ? "quarantined" : "dead", show_ms(row.age_ms), first_line(row.error)});
  }
  table.print();
  return kDone;
}

int run_dead_retry(const Call& call) { return settle(call, Request::Kind::retry_dead, "retried"); }

int run_dead_drop(const Call& call) { return settle(call, Request::Kind::drop_dead, "dropped"); }

}  // namespace tenure::cli

// tenure dead: what is out of attempts, and what is to become of it.

#include "base/printable.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/table.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

std::string first_line(const std::string& text) {
  constexpr std::size_t kColumnsMax = 60;
  const std::string line = text.substr(0, text.find('\n'));
  const std::string shown(printable_prefix(line, kColumnsMax));
  return shown.size() == line.size() ? line : shown + "…";
}

std::string_view kind_of(const v1::ListedDead& dead) { return to_string(static_cast<JobKind>(dead.kind())); }
std::string_view state_of(const v1::ListedDead& dead) { return dead.quarantined() ? "quarantined" : "dead"; }

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
    print(json.object().field("id", *id).field("state", done).end());
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
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  const Result<std::vector<v1::ListedDead>> rows = (*pool)->list_dead(0, *limit, false, *deadline);
  if (!rows) return report(call, rows.error());
  if (call.json()) {
    Json json;
    json.object().array("dead");
    for (const v1::ListedDead& row : *rows) {
      json.object().field("id", row.id()).field("key", row.key()).field("kind", kind_of(row));
      json.field("state", state_of(row)).field("epoch", row.epoch());
      json.field("age_ms", row.age_ms()).field("error", row.error()).end();
    }
    print(json.end().end());
    return kDone;
  }
  Table table({"ID", "KEY", "KIND", "STATE", "AGE", "ERROR"});
  for (const v1::ListedDead& row : *rows) {
    table.add({std::to_string(row.id()), row.key(), std::string(kind_of(row)), std::string(state_of(row)),
               show_ms(row.age_ms()), first_line(row.error())});
  }
  table.print();
  return kDone;
}

int run_dead_retry(const Call& call) { return settle(call, Request::Kind::retry_dead, "retried"); }

int run_dead_drop(const Call& call) { return settle(call, Request::Kind::drop_dead, "dropped"); }

}  // namespace tenure::cli

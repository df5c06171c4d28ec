// tenure dead: lists, retries and drops dead letters.

#include <optional>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "render/dead_letters.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

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
  const Result<std::uint64_t> from = call.number("after", 0, UINT64_MAX);
  if (!from) return report_usage(call, from.error());
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  // One more than is shown tells whether there are more.
  Result<std::vector<v1::ListedDead>> rows = (*pool)->list_dead(*from, *limit + 1, false, *deadline);
  if (!rows) return report(call, rows.error());
  std::optional<std::uint64_t> next;
  if (rows->size() > *limit) {
    rows->pop_back();
    next = rows->empty() ? *from : rows->back().id();
  }
  if (call.json()) {
    print(render::json_of_dead(*rows, next));
    return kDone;
  }
  print(render::table_of_dead(*rows));
  if (next) print_note("there are more: go on with --after " + std::to_string(*next));
  return kDone;
}

int run_dead_retry(const Call& call) { return settle(call, Request::Kind::retry_dead, "retried"); }

int run_dead_drop(const Call& call) { return settle(call, Request::Kind::drop_dead, "dropped"); }

}  // namespace tenure::cli

// tenure jobs: what the keys are doing.

#include <algorithm>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "cli/table.h"
#include "node/listing.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

struct Listing {
  std::vector<v1::ListedJob> rows;
  Position position = 0;  // of all shards together
};

Result<Listing> list(Shards& pool, v1::Ask ask, std::uint64_t limit, Deadline deadline) {
  Listing listing;
  for (std::uint32_t shard = 0; shard < pool.count(); ++shard) {
    ask.mutable_jobs()->set_from(0);
    for (bool more = listing.rows.size() < limit; more;) {
      const std::uint64_t left = std::min<std::uint64_t>(limit - listing.rows.size(), kListedMax);
      ask.mutable_jobs()->set_limit(static_cast<std::uint32_t>(left));
      const Result<v1::Told> told = pool.inquire(shard, ask, deadline);
      if (!told) return Failure(told.error());
      listing.rows.insert(listing.rows.end(), told->jobs().begin(), told->jobs().end());
      more = told->next_plus_one() != 0 && listing.rows.size() < limit;
      if (more) ask.mutable_jobs()->set_from(told->next_plus_one() - 1);
      if (!more) listing.position += told->position();
    }
  }
  std::sort(listing.rows.begin(), listing.rows.end(),
            [](const v1::ListedJob& a, const v1::ListedJob& b) { return a.key() < b.key(); });
  return listing;
}

std::optional<JobState> state_named(std::string_view name) {
  for (auto state = JobState::idle; state <= JobState::quarantined;
       state = static_cast<JobState>(static_cast<int>(state) + 1)) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

std::string_view kind_of(const v1::ListedJob& job) { return to_string(static_cast<JobKind>(job.kind())); }
std::string_view state_of(const v1::ListedJob& job) { return to_string(static_cast<JobState>(job.state())); }

std::string as_json(const Listing& listing) {
  Json json;
  json.object().field("position", listing.position).array("jobs");
  for (const v1::ListedJob& row : listing.rows) {
    json.object().field("key", row.key()).field("kind", kind_of(row)).field("state", state_of(row));
    row.worker().empty() ? json.null("worker") : json.field("worker", row.worker());
    row.epoch() == 0 ? json.null("epoch") : json.field("epoch", row.epoch());
    json.field("attempt", row.attempt()).field("since_ms", row.since_ms()).end();
  }
  return json.end().end().text();
}

}  // namespace

int run_jobs(const Call& call) {
  const Result<std::uint64_t> limit = call.number("limit", 100, 100'000'000);
  if (!limit) return report_usage(call, limit.error());
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  v1::Ask ask;
  ask.mutable_jobs()->set_prefix(call.value("prefix").value_or(""));
  ask.mutable_jobs()->set_worker(call.value("worker").value_or(""));
  if (const std::optional<JobState> state = state_named(call.value("state").value_or(""))) {
    ask.mutable_jobs()->set_state_plus_one(static_cast<std::uint32_t>(*state) + 1);
  }
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  const Result<Listing> listing = list(**pool, ask, *limit, *deadline);
  if (!listing) return report(call, listing.error());
  if (call.json()) {
    print(as_json(*listing));
    return kDone;
  }
  Table table({"KEY", "KIND", "STATE", "WORKER", "EPOCH", "ATTEMPT", "SINCE"});
  for (const v1::ListedJob& row : listing->rows) {
    table.add({row.key(), std::string(kind_of(row)), std::string(state_of(row)), row.worker(),
               row.epoch() == 0 ? "" : std::to_string(row.epoch()), std::to_string(row.attempt()),
               show_ms(row.since_ms())});
  }
  table.print();
  if (listing->rows.size() == *limit) say("there may be more: --limit N");
  return kDone;
}

}  // namespace tenure::cli

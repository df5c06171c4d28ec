// tenure jobs: lists the keys with their state and holder.

#include <algorithm>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "render/jobs.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

std::optional<JobState> state_named(std::string_view name) {
  for (auto state = JobState::idle; state <= JobState::quarantined;
       state = static_cast<JobState>(static_cast<int>(state) + 1)) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

}  // namespace

int run_jobs(const Call& call) {
  const Result<std::uint64_t> limit = call.number("limit", 100, 100'000'000);
  if (!limit) return report_usage(call, limit.error());
  const Result<std::uint64_t> from = call.number("from", 0, UINT64_MAX);
  if (!from) return report_usage(call, from.error());
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  v1::ListJobs query;
  query.set_prefix(call.value("prefix").value_or(""));
  query.set_worker(call.value("worker").value_or(""));
  if (const std::optional<JobState> state = state_named(call.value("state").value_or(""))) {
    query.set_state_plus_one(static_cast<std::uint32_t>(*state) + 1);
  }
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  Result<JobPage> listing = (*pool)->list_jobs(query, *from, *limit, *deadline);
  if (!listing) return report(call, listing.error());
  std::sort(listing->jobs.begin(), listing->jobs.end(),
            [](const v1::ListedJob& a, const v1::ListedJob& b) { return a.key() < b.key(); });
  if (call.json()) {
    print(render::json_of_jobs(listing->position, listing->jobs, listing->next));
    return kDone;
  }
  print(render::table_of_jobs(listing->jobs));
  if (listing->next) print_note("there may be more: go on with --from " + std::to_string(*listing->next));
  return kDone;
}

}  // namespace tenure::cli

// tenure source: lists and removes the sources that feed a pool.

#include <map>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "machine/own_names.h"
#include "pool/source_infos.h"
#include "pool/source_runner.h"
#include "render/sources.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

constexpr std::size_t kFeedersListed = 10'000;

// Which worker holds the feeder of each key.
Result<std::map<std::string, v1::ListedJob>> holders_of(Shards& pool, Deadline deadline) {
  v1::ListJobs query;
  query.set_prefix(Bytes(kOwnKeys));
  const Result<JobPage> page = pool.list_jobs(query, 0, kFeedersListed, deadline);
  if (!page) return Failure(page.error());
  std::map<std::string, v1::ListedJob> holders;
  for (const v1::ListedJob& job : page->jobs) holders[job.key()] = job;
  return holders;
}

}  // namespace

int run_source_list(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  const auto listed = (*pool)->list_sources(*deadline);
  if (!listed) return report(call, listed.error());
  const auto holders = holders_of(**pool, *deadline);
  if (!holders) return report(call, holders.error());
  std::vector<render::SourceRow> rows;
  for (SourceInfo& info : source_infos(*listed, (*pool)->count())) {
    render::SourceRow row{.info = std::move(info)};
    const auto held = holders->find(row.info.key);
    if (held != holders->end()) {
      row.holder = held->second.worker();
      row.holder_epoch = held->second.epoch();
      row.why = held->second.why();
    }
    rows.push_back(std::move(row));
  }
  if (call.json()) {
    print(render::json_of_sources(rows));
    return kDone;
  }
  print(render::table_of_sources(rows));
  for (const render::SourceRow& row : rows) {
    if (!row.info.trouble.empty()) print_note(render::name_of(row) + ": " + row.info.trouble);
  }
  if (rows.empty()) print_note("nothing feeds this pool; start with: tenure work --source URL --exec CMD");
  return kDone;
}

int run_source_remove(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(60));
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  if (const Status removed = remove_source(**pool, call.words[0], *deadline); !removed) {
    return report(call, removed.error());
  }
  if (call.json()) {
    Json json;
    print(json.object().field("name", call.words[0]).field("state", "removed").end());
  } else {
    print(call.words[0] + " removed");
  }
  return kDone;
}

}  // namespace tenure::cli

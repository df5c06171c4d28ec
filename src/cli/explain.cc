// tenure explain: reads from the log who held a key, from when to when, and why it moved.

#include <optional>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/historian.h"
#include "cli/run.h"
#include "node/keys/listing.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

struct History {
  std::vector<Tenure> tenures;
  std::optional<std::string> job;  // kind and state
};

History history_of(const v1::Told& told, std::vector<Tenure> tenures) {
  History history{with_gaps(std::move(tenures)), std::nullopt};
  for (const v1::ListedJob& job : told.jobs()) {
    history.job = std::string(to_string(static_cast<JobKind>(job.kind()))) +
                  (job.type().empty() ? "" : " of type '" + job.type() + "'") + ", " +
                  std::string(to_string(static_cast<JobState>(job.state()))) +
                  (job.why().empty() ? "" : ": " + job.why());
  }
  return history;
}

// The process that loads the state also applies the log since the newest snapshot. It sees more than the state keeps:
// ended tasks, and tenures beyond the limit of the state. If that takes too long, a member answers instead, provided
// that the key's last tenures are still in the state.
Result<History> look_up(const Call& call, const std::string& key, Deadline deadline) {
  Historian historian(key);
  const Result<std::unique_ptr<Shards>> pool = connect(call, [&](std::uint32_t) { return &historian; });
  if (!pool) return Failure(pool.error());
  v1::Ask ask;
  ask.mutable_history()->set_key(key);
  const Result<v1::Told> told = (*pool)->inquire(shard_of(key, (*pool)->count()), ask, deadline);
  if (!told) return Failure(told.error());
  const bool by_a_member = told->question() != 0;
  if (by_a_member && told->history_known()) return history_of(*told, kept_history(*told));
  History history;
  const auto look = [&](const Machine& machine) {
    history = history_of(tell_history(machine, key), historian.history());
  };
  if (const Status looked = (*pool)->look_at(key, look, deadline); !looked) return Failure(looked.error());
  return history;
}

}  // namespace

int run_explain(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  const std::string& key = call.words[0];
  const Result<History> found = look_up(call, key, *deadline);
  if (!found) return report(call, found.error());
  const std::vector<Tenure>& history = found->tenures;
  if (!found->job && history.empty()) {
    return report(call, {Errc::no_such_key, "explain", "'" + key + "' has no history"});
  }
  if (call.json()) {
    print(render::json_of_history(key, history));
    return kDone;
  }
  print(key + ": " + found->job.value_or("has no job now"));
  print(render::table_of_history(history));
  print_note("from before the log's newest snapshot, the pool keeps only the last " + std::to_string(kPastTenuresMax) +
             " tenures of residents");
  return kDone;
}

}  // namespace tenure::cli

// tenure workers: lists the workers of the pool.

#include "render/workers.h"
#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
int run_workers(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::seconds(30));
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  v1::Ask ask;
  ask.mutable_workers();
  std::vector<render::WorkerRow> rows;
  Position position = 0;
  for (std::uint32_t i = 0; i < (*pool)->count(); ++i) {
    const Result<v1::Told> told = (*pool)->inquire(i, ask, *deadline);
    if (!told) return report(call, told.error());
    position += told->position();
    render::add_workers(*told, rows);
  }
  if (call.json()) {
    print(render::json_of_workers(position, rows));
    return kDone;
  }
  print(render::table_of_workers(rows));
  if (rows.empty()) print_note("this pool has no workers; start one with: tenure work --exec CMD");
  return kDone;
}

}  // namespace tenure::cli

#pragma once

// What a command line says about workers whose handlers are programs: `tenure work` and `tenure partition`.

#include <vector>

#include "cli/call.h"
#include "exec/guarded_host.h"
#include "guard/wear.h"
#include "pool/shards.h"

namespace tenure::cli {

struct WorkPlan {
  CoreOptions core;
  exec::ProgramOptions programs;
  std::vector<NodeWorker> workers;
  bool known_death = true;
  std::uint64_t warm = 0;  // number of warm programs; zero for none
  guard::WearLimits wear;  // limits of warm programs
};

// Errc::invalid for a wrong command line.
Result<WorkPlan> work_plan(const Call& call);

// Runs the workers until a signal or the end of the pool. Returns the exit code.
int run_plan(const Call& call, WorkPlan plan);

}  // namespace tenure::cli

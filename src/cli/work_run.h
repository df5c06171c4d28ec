#pragma once

// Runs workers whose handlers are programs, from joining to leaving: `tenure work` and `tenure orders work`.

#include <cstdint>
#include <functional>
#include <string>
#include <tenure/pool.hpp>
#include <vector>

#include "cli/call.h"
#include "cli/work_events.h"
#include "exec/guarded_host.h"
#include "guard/guard.h"
#include "guard/wear.h"
#include "node/keys/own_workers.h"
#include "pool/pool_core.h"

namespace tenure::cli {

struct WorkPlan {
  CoreOptions core;
  exec::ProgramOptions programs;
  std::vector<NodeWorker> workers;
  bool known_death = true;
  std::uint64_t warm = 0;  // number of warm programs; zero for none
  guard::WearLimits wear;  // limits of warm programs
  guard::GuardOptions guard;
  std::vector<SourceOptions> sources{};
  // What else the second member does, which reads the sources.
  std::function<Status(Pool&)> beside{};
  std::vector<PoolWatcher*> watchers{};
  // An id that another living worker has: refuse to start, instead of waiting until it is free. A worker whose beats
  // have stopped is waited for.
  bool refuse_taken = false;
  std::string taken_hint{};  // for people: what to do then
  // Zero, or how many jobs are begun. Further ones are handed back when the workers leave.
  std::uint64_t jobs_max = 0;
  std::function<bool()> enough{};  // true: leave
  std::string health_file{};       // for probes (health_file.h); empty: none
};

// Returns the exit code.
int run_work_plan(const Call& call, WorkPlan& plan, WorkEvents& events);

}  // namespace tenure::cli

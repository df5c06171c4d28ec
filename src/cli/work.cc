// tenure work: workers whose handlers are programs.

#include "cli/failure.h"
#include "cli/run.h"
#include "cli/work_plan.h"
#include "cli/work_sources.h"
#include "exec/find_program.h"

namespace tenure::cli {

int run_work(const Call& call) {
  if (call.rest.empty()) return report_usage(call, {Errc::invalid, "", "--exec CMD… is needed"});
  if (const Status found = exec::find_program(call.rest.front()); !found) {
    return report_usage(call, {Errc::invalid, "", found.error().context + "; --exec needs a program that exists"});
  }
  if (const Status sound = check_sources(call.values("source")); !sound) return report_usage(call, sound.error());
  Result<WorkPlan> plan = work_plan(call);
  if (!plan) return report_usage(call, plan.error());
  for (const std::string& source : call.values("source")) plan->sources.push_back({.url = source});
  WorkEvents events(call.json());
  return run_work_plan(call, *plan, events);
}

}  // namespace tenure::cli

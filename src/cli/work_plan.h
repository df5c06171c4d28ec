#pragma once

// What a command line says about workers whose handlers are programs: `tenure work` and `tenure partition`.

#include "cli/call.h"
#include "cli/work_run.h"

namespace tenure::cli {

// Errc::invalid for a wrong command line.
Result<WorkPlan> work_plan(const Call& call);

}  // namespace tenure::cli

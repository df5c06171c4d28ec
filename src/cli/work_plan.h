#pragma once

// What a command line says about workers whose handlers are programs: `tenure work` and `tenure partition`.

#include <chrono>
#include <optional>
#include <string>

#include "cli/work_run.h"

namespace tenure::cli {

// What is wrong with the lease of a worker, or nothing.
std::optional<std::string> wrong_lease(std::chrono::milliseconds lease);

// Errc::invalid for a wrong command line.
Result<WorkPlan> work_plan(const Call& call);

}  // namespace tenure::cli

#pragma once

// Appends to the log, in the name of a worker process that is gone, that its sessions have ended. The other workers
// then take a crash over at once, on every host; without it they wait for the lease.

#include <vector>

#include "guard/endings.h"

namespace tenure::exec {

// A guard::ReportEndings. What could not be appended within `patience` is left to the lease.
bool append_ends(const std::vector<guard::Ending>& endings, Nanos patience);

}  // namespace tenure::exec

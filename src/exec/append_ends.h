#pragma once

// Appends the ends of sessions to the log for a worker process that is gone. The other workers on every host then take
// over at once. Otherwise they wait for the lease.

#include <vector>

#include "guard/endings.h"

namespace tenure::exec {

// A guard::ReportEndings. Ends that could not be appended within `patience` are left to the lease.
bool append_ends(const std::vector<guard::Ending>& endings, Nanos patience);

}  // namespace tenure::exec

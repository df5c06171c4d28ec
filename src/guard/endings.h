#pragma once

// The sessions of a worker that is gone, and how the guard reports their ends. A pool without a log has no such
// sessions, so the guard knows nothing of logs: whoever links its main function brings the reporter
// (exec/append_ends.h).

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tenure::guard {

struct Ending {
  std::string url;
  std::string pool;
  std::uint64_t session = 0;
};

// Nothing of the sessions runs any more. Tries again until `patience` is used up. True if all ends were reported.
using ReportEndings = bool (*)(const std::vector<Ending>& endings, Nanos patience);

}  // namespace tenure::guard

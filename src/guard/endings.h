#pragma once

// The sessions of a worker that is gone, and how the guard reports their ends. A pool without a log has no such
// sessions, so the guard does not depend on logs: the program that links its main function passes the reporter
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
  std::vector<std::uint64_t> culprits{};  // tenures whose handlers brought the process down
  std::string evidence{};
};

// Nothing of the sessions runs any more. Retries for up to `patience`. True if all ends were reported.
using ReportEndings = bool (*)(const std::vector<Ending>& endings, Nanos patience);

}  // namespace tenure::guard

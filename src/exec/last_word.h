#pragma once

// Says in the log, in the name of a worker process that is gone, that its sessions have ended. A crash is then taken
// over at once, on every host; without it the others wait for the lease.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tenure::exec {

struct Ending {
  std::string url;
  std::string pool;
  std::uint64_t session = 0;
};

// Nothing of the sessions may run any more. Tries again until `patience` is used up; after that the lease has to tell.
// True if all were said.
bool say_ends(const std::vector<Ending>& endings, Nanos patience);

}  // namespace tenure::exec

#pragma once

// Thrown by a stop() of the library's own handlers where the job has surely ended, but with an error. What any other
// stop() throws leaves open whether the job still runs.

#include <string>

namespace tenure {

struct StoppedWithError {
  std::string text;
};

}  // namespace tenure

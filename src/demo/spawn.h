#pragma once

// Starts a process of the demo, with no signal blocked and in a group of its own, so that what is typed at the
// terminal reaches the demo alone.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tenure::demo {

struct SpawnOptions {
  int input = -1;                             // becomes standard input; -1: nothing to read
  bool session = false;                       // a session of its own, too
  std::string error_path = {};                // where standard error goes; empty: nowhere
  std::vector<std::string> environment = {};  // NAME=VALUE, in place of the demo's own of that name
};

// The first argument is the program's path. The process is a child of the calling thread, which is to live as long as
// the demo: a worker asks the kernel to be killed when the thread that started it ends.
Result<pid_t> spawn(const std::vector<std::string>& arguments, const SpawnOptions& options);

}  // namespace tenure::demo

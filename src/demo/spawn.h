#pragma once

// Starts a process of the demo with no signal blocked and in a new process group, so that keys typed at the terminal
// reach the demo only.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tenure::demo {

struct SpawnOptions {
  int input = -1;                             // becomes standard input; -1: nothing to read
  bool session = false;                       // start a new session, too
  std::string error_path = {};                // the file for standard error; empty: discarded
  std::vector<std::string> environment = {};  // NAME=VALUE; replaces the demo's variable of the same name
};

// The first argument is the program's path. The process is a child of the calling thread, which must live as long as
// the demo: a worker asks the kernel to kill it when the thread that started it ends.
Result<pid_t> spawn(const std::vector<std::string>& arguments, const SpawnOptions& options);

}  // namespace tenure::demo

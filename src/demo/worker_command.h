#pragma once

// What the parent tells a worker process on its command line, in both directions.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tenure::demo {

struct WorkerCommand {
  std::string url;
  std::string pool;
  std::string ledger;  // the path
  std::string id;
  std::string replaces;  // may be empty
  std::chrono::milliseconds lease{0};
  pid_t parent = 0;
};

std::vector<std::string> to_arguments(const WorkerCommand& command);
std::optional<WorkerCommand> worker_command(const std::vector<std::string>& arguments);

}  // namespace tenure::demo

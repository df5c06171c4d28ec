#pragma once

// How the parent passes settings to a worker process: on its command line, and in its environment if the engine's URL
// may contain a password, because anybody can read a command line.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tenure::demo {

struct WorkerCommand {
  std::string url{};
  std::string pool{};
  std::string ledger{};  // the path
  std::string id{};
  std::string replaces{};  // may be empty
  std::chrono::milliseconds lease{0};
  pid_t parent = 0;
  bool bad = false;  // of a version that cannot start anything
};

std::vector<std::string> to_arguments(const WorkerCommand& command);
std::vector<std::string> to_environment(const WorkerCommand& command);
std::optional<WorkerCommand> worker_command(const std::vector<std::string>& arguments);

}  // namespace tenure::demo

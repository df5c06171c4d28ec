#pragma once

// What can be said of an engine by looking at it: whether it is set up so that a pool can rely on it, what could be
// lost, and how to change that. For `tenure doctor`.

#include <string>
#include <string_view>
#include <vector>

#include "log/open.h"

namespace tenure {

struct Finding {
  std::string name;
  bool ok = true;
  std::string message;
  std::string hint;  // what to do about it, where it is not ok
};

// Asks the server, where the engine is one; nothing for the others.
std::vector<Finding> inspect_log(std::string_view url, const LogOptions& options);

}  // namespace tenure

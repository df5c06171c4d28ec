#pragma once

// The environment of what an order runs.

#include <string>
#include <utility>
#include <vector>

namespace tenure::orders {

// The operator's handler has that of the worker, and $ORDER.
std::vector<std::string> environment_of_handler();
// A command that came with an order has none of the worker's but PATH, HOME and the like, so that it does not learn the
// engine's password; the variables of the job (TENURE_KEY, …), $ORDER, and the order's own pairs.
std::vector<std::string> environment_of_command(const std::vector<std::pair<std::string, std::string>>& pairs);
// The runtime of containers has the worker's, without the variables that may hold a login.
std::vector<std::string> environment_of_runtime();

}  // namespace tenure::orders

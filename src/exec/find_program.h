#pragma once

#include <string>

#include "base/result.h"

namespace tenure::exec {

// Whether the program that a command names is there and may be executed, as execvp() would find it. A worker asks
// before it joins a pool: one that can start nothing should take no keys.
Status find_program(const std::string& name);

}  // namespace tenure::exec

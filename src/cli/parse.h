#pragma once

// From a command line to a Call.

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/call.h"

namespace tenure::cli {

// Flags may stand before or after the command and its words, and be written --flag VALUE or --flag=VALUE; after "--"
// everything is a word. Errc::invalid names the nearest flag or command there is.
Result<Call> parse(const std::vector<std::string>& arguments);

}  // namespace tenure::cli

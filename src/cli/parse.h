#pragma once

// Parses a command line into a Call.

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/call.h"

namespace tenure::cli {

// Flags may stand before or after the command and its words, and be written --flag VALUE or --flag=VALUE; after "--"
// everything is a word. For an unknown flag or command, Errc::invalid suggests the nearest one.
Result<Call> parse(const std::vector<std::string>& arguments);

}  // namespace tenure::cli

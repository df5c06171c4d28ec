#pragma once

// The texts for people, made from the table of commands.

#include <string>
#include <string_view>

namespace tenure::cli {

struct Command;

std::string help_overview();
std::string help_of(const Command& command);
// All commands of a group, such as "dead"; empty if there is none of that name.
std::string help_of_group(std::string_view word);

}  // namespace tenure::cli

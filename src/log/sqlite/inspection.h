#pragma once

// Examines a SQLite log for `tenure doctor`: its durability, and the disk of the file.

#include <string_view>
#include <vector>

#include "log/finding.h"

namespace tenure::sqlite {

// `location` is the URL without its scheme. Returns nothing if it names no file that could be opened.
std::vector<Finding> inspect(std::string_view location);

}  // namespace tenure::sqlite

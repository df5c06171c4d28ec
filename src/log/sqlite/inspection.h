#pragma once

// A look at a SQLite log for `tenure doctor`: what a loss of power takes, and the disk that the file lies on.

#include <string_view>
#include <vector>

#include "log/finding.h"

namespace tenure::sqlite {

// `location` is the URL without its scheme. Empty if it names no file that could be opened.
std::vector<Finding> inspect(std::string_view location);

}  // namespace tenure::sqlite

#pragma once

// A finding of an engine about its own settings, for `tenure doctor`: whether a pool can rely on them, and how to
// change them.

#include <string>

namespace tenure {

struct Finding {
  std::string name;
  bool ok = true;
  std::string message;
  std::string hint;  // what to do if it is not ok
};

}  // namespace tenure

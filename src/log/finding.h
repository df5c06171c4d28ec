#pragma once

// One thing that an engine says about itself for `tenure doctor`: whether it is set up so that a pool can rely on it,
// and how to change that.

#include <string>

namespace tenure {

struct Finding {
  std::string name;
  bool ok = true;
  std::string message;
  std::string hint;  // what to do about it, where it is not ok
};

}  // namespace tenure

#pragma once

// The name of this host.

#include <unistd.h>

#include <array>
#include <string>

namespace tenure {

inline std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace tenure

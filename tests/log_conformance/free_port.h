#pragma once

#include <cstdint>

namespace tenure::conformance {

// A port of the loopback that was free a moment ago.
std::uint16_t free_port();

}  // namespace tenure::conformance

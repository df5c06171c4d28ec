#pragma once

// The schemes of Kafka URLs. Builds without the engine know them too, to report the missing engine.

#include <array>
#include <string_view>

namespace tenure::kafka {

inline constexpr std::array<std::string_view, 2> kSchemeNames = {"kafka", "kafkas"};

}  // namespace tenure::kafka

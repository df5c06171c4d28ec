#pragma once

// The schemes of Redis URLs. Builds without the engine know them too, to report the missing engine.

#include <algorithm>
#include <array>
#include <string_view>

namespace tenure::redis {

struct Scheme {
  std::string_view name;
  bool tls = false;
  bool sentinel = false;
  bool socket = false;
};

inline constexpr std::array<Scheme, 6> kSchemes = {{{.name = "redis"},
                                                    {.name = "rediss", .tls = true},
                                                    {.name = "redis+sentinel", .sentinel = true},
                                                    {.name = "rediss+sentinel", .tls = true, .sentinel = true},
                                                    {.name = "redis+unix", .socket = true},
                                                    {.name = "unix", .socket = true}}};

inline constexpr std::array<std::string_view, kSchemes.size()> kSchemeNames = [] {
  std::array<std::string_view, kSchemes.size()> names;
  std::transform(kSchemes.begin(), kSchemes.end(), names.begin(), [](const Scheme& scheme) { return scheme.name; });
  return names;
}();

}  // namespace tenure::redis

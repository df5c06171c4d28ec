#pragma once

// Draws a scene. Pure: returns at most `height` rows for a screen of the given size, each at most `width` columns wide.

#include <cstddef>
#include <string>
#include <vector>

#include "demo/scene.h"

namespace tenure::demo {

struct ScreenSize {
  std::size_t width = 80;
  std::size_t height = 24;
  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

// On a smaller screen the view shows only this requirement.
constexpr ScreenSize kScreenMin{60, 16};

std::vector<std::string> draw(const Scene& scene, const ScreenSize& size, bool colour);

}  // namespace tenure::demo

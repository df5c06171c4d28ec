#pragma once

// Draws a scene. Pure: rows of bytes for a screen of the given size, at most `height` of them, each at most `width`
// columns wide.

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

// Below this the screen says so, and nothing else.
constexpr ScreenSize kScreenMin{60, 16};

std::vector<std::string> draw(const Scene& scene, const ScreenSize& size, bool colour);

}  // namespace tenure::demo

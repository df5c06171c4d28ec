#pragma once

// Draws the parts of the screen; view.cc combines them. Pure.

#include <cstddef>
#include <string>
#include <vector>

#include "demo/row.h"
#include "demo/scene.h"

namespace tenure::demo {

constexpr Style kPlain{};
constexpr Style kQuiet{245, -1, false};
constexpr Style kLoud{-1, -1, true};
constexpr Style kGood{114, -1, true};
constexpr Style kBad{203, -1, true};

// The margin on both sides of every row.
constexpr std::size_t kMargin = 2;

// The colour of a worker's slot. Grey for slot zero.
int slot_colour(int slot);

std::vector<std::string> draw_title(const Scene& scene, std::size_t width, bool colour);
std::size_t grid_rows(const Scene& scene, std::size_t width);
std::vector<std::string> draw_grid(const Scene& scene, std::size_t width, std::size_t rows, bool colour);
std::vector<std::string> draw_explanation(const Explanation& explanation, std::size_t width, std::size_t rows,
                                          bool colour);
std::vector<std::string> draw_workers(const Scene& scene, std::size_t width, bool colour);
// The latest events that fit, the newest last.
std::vector<std::string> draw_happenings(const Scene& scene, std::size_t width, std::size_t rows, bool colour);
std::vector<std::string> draw_footer(const Scene& scene, std::size_t width, bool colour);

// `count` with thin groups of three: "48 211".
std::string grouped(std::uint64_t count);

}  // namespace tenure::demo

#include "demo/view.h"

#include <algorithm>
#include <cstdio>

#include "demo/row.h"
#include "demo/view_parts.h"

namespace tenure::demo {
namespace {

constexpr std::size_t kTitleRows = 2;
constexpr std::size_t kFooterRows = 4;
constexpr std::size_t kHappeningsMin = 2;

}  // namespace

std::vector<std::string> draw(const Scene& scene, const ScreenSize& size, bool colour) {
  if (size.width < kScreenMin.width || size.height < kScreenMin.height) {
    Row row(size.width, colour);
    row.put("tenure demo needs 60 x 16", kLoud);
    return {std::move(row).finish()};
  }
  std::vector<std::string> rows = draw_title(scene, size.width, colour);
  const auto append = [&rows](std::vector<std::string> part) {
    rows.insert(rows.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  };

  // Space in the middle goes to the workers first, then to the tenants. The rest is for the events.
  const std::size_t room = size.height - kTitleRows - kFooterRows;
  std::vector<std::string> workers = draw_workers(scene, size.width, colour);
  if (workers.size() > room / 3) workers.resize(room / 3);
  const std::size_t spared = workers.size() + 2 + kHappeningsMin;
  const std::size_t grid = std::min(grid_rows(scene, size.width), room > spared ? room - spared : 1);
  append(scene.explanation ? draw_explanation(*scene.explanation, size.width, grid, colour)
                           : draw_grid(scene, size.width, grid, colour));
  rows.emplace_back();
  append(std::move(workers));
  rows.emplace_back();
  const std::size_t left = size.height - kFooterRows - std::min(rows.size(), size.height - kFooterRows);
  append(draw_happenings(scene, size.width, left, colour));
  rows.resize(size.height - kFooterRows);
  append(draw_footer(scene, size.width, colour));
  return rows;
}

}  // namespace tenure::demo

// Draws the tenants, one cell each, in the colour of their holder.

#include <algorithm>
#include <cstdio>

#include "base/printable.h"
#include "demo/human_ms.h"
#include "demo/view_parts.h"

namespace tenure::demo {
namespace {

constexpr std::size_t kCellMin = 9;  // the last column is the space between two
constexpr std::size_t kColumns = 8;

// The cells of a row, from edge to edge; some are a column wider than others.
struct Shape {
  std::size_t columns;
  std::size_t room;

  std::size_t begin(std::size_t column) const { return kMargin + column * room / columns; }
  std::size_t width(std::size_t column) const { return begin(column + 1) - begin(column) - 1; }
};

Shape shape_of(std::size_t tenants, std::size_t width) {
  const std::size_t room = width - 2 * kMargin + 1;
  // Eight in a row look best. More are drawn only if there are too many tenants.
  const std::size_t fit = room / kCellMin;
  return {tenants <= kColumns * kColumns ? std::min(kColumns, fit) : fit, room};
}

Style style_of(const Cell& cell) {
  constexpr int kInk = 234;
  constexpr int kShade = 237;
  const int own = slot_colour(cell.slot);
  switch (cell.mood) {
    case Cell::Mood::ticking: return {kInk, own, false};
    case Cell::Mood::fresh: return {kInk, own, true};
    case Cell::Mood::stale:
    case Cell::Mood::moving: return {own, kShade, false};
    case Cell::Mood::orphan: return {203, kShade, true};
  }
  return {};
}

// The key's number follows its last dash.
std::string name_of(const Cell& cell) { return cell.key.substr(cell.key.rfind('-') + 1); }

std::string number_of(const Cell& cell, std::size_t room) {
  std::string number = cell.mood == Cell::Mood::orphan ? human_ms(cell.alone_ms) : std::to_string(cell.ticks);
  if (columns_of(number) > room)
    number = cell.mood == Cell::Mood::orphan ? "…" : std::to_string(cell.ticks / 1000) + "k";
  if (columns_of(number) > room) number = "…";
  return std::string(room - std::min(room, columns_of(number)), ' ') + number;
}

void put_coloured(Row& row, const Cell& cell, std::size_t width) {
  const std::string name = (cell.mood == Cell::Mood::fresh ? "▸" : " ") + name_of(cell) + " ";
  const Style style = style_of(cell);
  Style quiet = style;
  if (cell.mood == Cell::Mood::ticking || cell.mood == Cell::Mood::fresh) quiet.text = 240;
  row.put(name, quiet).put(number_of(cell, width - std::min(width, columns_of(name) + 1)) + " ", style);
}

// Without colours the cell has the holder's number: `07:2`, or `07▸2` if it has just moved there.
void put_plain(Row& row, const Cell& cell, std::size_t width) {
  const std::string holder = cell.slot == 0 || cell.mood == Cell::Mood::orphan ? "-" : std::to_string(cell.slot);
  const std::string name = name_of(cell) + (cell.mood == Cell::Mood::fresh ? "▸" : ":") + holder + " ";
  row.put(name + number_of(cell, width - std::min(width, columns_of(name))), {-1, -1, cell.mood == Cell::Mood::fresh});
}

}  // namespace

std::size_t grid_rows(const Scene& scene, std::size_t width) {
  const std::size_t columns = shape_of(scene.cells.size(), width).columns;
  return std::max<std::size_t>(1, (scene.cells.size() + columns - 1) / columns);
}

std::vector<std::string> draw_grid(const Scene& scene, std::size_t width, std::size_t rows, bool colour) {
  const Shape shape = shape_of(scene.cells.size(), width);
  std::vector<std::string> drawn;
  std::size_t next = 0;
  while (drawn.size() < rows) {
    Row row(width, colour);
    const std::size_t left = scene.cells.size() - next;
    if (drawn.size() + 1 == rows && left > shape.columns) {
      row.to(kMargin).put("… and " + std::to_string(left) + " more", kQuiet);
      next = scene.cells.size();
    }
    for (std::size_t column = 0; column < shape.columns && next < scene.cells.size(); ++column, ++next) {
      row.to(shape.begin(column));
      (colour ? put_coloured : put_plain)(row, scene.cells[next], shape.width(column));
    }
    drawn.push_back(std::move(row).finish());
  }
  return drawn;
}

}  // namespace tenure::demo

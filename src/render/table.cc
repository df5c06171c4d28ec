#include "render/table.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"

namespace tenure::render {
namespace {

// A longer cell shifts the rest of its own row only.
constexpr std::size_t kAlignedColumnsMax = 80;

}  // namespace

std::vector<std::string> Table::lines() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t columns = columns_of(row[i]);
      if (columns <= kAlignedColumnsMax) widths[i] = std::max(widths[i], columns);
    }
  }
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      const std::size_t columns = columns_of(row[i]);
      if (i + 1 < row.size()) line.append(std::max(widths[i], columns) - columns + 2, ' ');
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tenure::render

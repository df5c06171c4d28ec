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

std::string show_ms(std::int64_t ms) {
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (ms < 60'000) return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
  const std::int64_t minutes = ms / 60'000;
  if (minutes < 60) return std::to_string(minutes) + " min " + std::to_string(ms / 1000 % 60) + " s";
  if (minutes < 2880) return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
  return std::to_string(minutes / 60 / 24) + " d";
}

}  // namespace tenure::render

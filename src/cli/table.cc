#include "cli/table.h"

#include <algorithm>
#include <cstdint>

#include "cli/failure.h"

namespace tenure::cli {
namespace {

std::string harmless(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

// As shown: bytes that continue a UTF-8 character take no room.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void Table::print() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += harmless(row[i]);
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    cli::print(line);
  }
}

std::string show_ms(std::int64_t ms) {
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (ms < 60'000) return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
  const std::int64_t minutes = ms / 60'000;
  if (minutes < 60) return std::to_string(minutes) + " min " + std::to_string(ms / 1000 % 60) + " s";
  if (minutes < 2880) return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
  return std::to_string(minutes / 60 / 24) + " d";
}

}  // namespace tenure::cli

#include "demo/row.h"

#include <algorithm>

namespace tenure::demo {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

std::size_t columns_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), begins_character));
}

Row& Row::put(std::string_view utf8, const Style& style) {
  std::size_t end = 0;
  std::size_t taken = 0;
  while (end < utf8.size()) {
    if (begins_character(utf8[end])) {
      if (column_ + taken == width_) break;
      ++taken;
    }
    ++end;
  }
  if (taken == 0) return *this;
  wear(style);
  bytes_ += utf8.substr(0, end);
  column_ += taken;
  return *this;
}

Row& Row::to(std::size_t column) { return put(std::string(column > column_ ? column - column_ : 1, ' ')); }

Row& Row::right(std::string_view utf8, const Style& style) {
  const std::size_t needed = columns_of(utf8);
  if (column_ + needed + 1 > width_) return *this;
  return to(width_ - needed).put(utf8, style);
}

void Row::wear(const Style& style) {
  if (style == worn_) return;
  worn_ = style;
  bytes_ += "\x1b[0";
  if (style.bold) bytes_ += ";1";
  if (colour_ && style.text >= 0) bytes_ += ";38;5;" + std::to_string(style.text);
  if (colour_ && style.ground >= 0) bytes_ += ";48;5;" + std::to_string(style.ground);
  bytes_ += 'm';
}

std::string Row::finish() && {
  wear({});
  return std::move(bytes_);
}

}  // namespace tenure::demo

#include "demo/row.h"

#include "base/printable.h"

namespace tenure::demo {
Row& Row::put(std::string_view text, const Style& style) {
  const std::string_view shown = printable_prefix(text, width_ - column_);
  if (shown.empty()) return *this;
  wear(style);
  bytes_ += printable(shown);
  column_ += columns_of(shown);
  return *this;
}

Row& Row::to(std::size_t column) { return put(std::string(column > column_ ? column - column_ : 1, ' ')); }

Row& Row::right(std::string_view text, const Style& style) {
  const std::size_t needed = columns_of(text);
  if (column_ + needed + 1 > width_) return *this;
  return to(width_ - needed).put(text, style);
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

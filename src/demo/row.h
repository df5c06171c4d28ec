#pragma once

// One row of the screen: text with colours, cut at the width. Pure.

#include <cstddef>
#include <string>
#include <string_view>

namespace tenure::demo {

// Colours are from the 256 that every terminal has; -1 is the terminal's own.
struct Style {
  int text = -1;
  int ground = -1;
  bool bold = false;

  friend bool operator==(const Style&, const Style&) = default;
};

class Row {
 public:
  Row(std::size_t width, bool colour) : width_(width), colour_(colour) {}

  // Escapes unprintable characters (base/printable.h), so a row contains no control sequences but its own.
  Row& put(std::string_view text, const Style& style = {});
  // Blanks up to the column, in the terminal's own colour. One blank if the column is already passed.
  Row& to(std::size_t column);
  // Right-aligned, if there is room.
  Row& right(std::string_view text, const Style& style = {});

  std::size_t column() const { return column_; }
  // The bytes to write. They end by resetting the colours.
  std::string finish() &&;

 private:
  void wear(const Style& style);

  const std::size_t width_;
  const bool colour_;
  std::size_t column_ = 0;
  Style worn_{};
  std::string bytes_;
};

}  // namespace tenure::demo

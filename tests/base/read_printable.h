#pragma once

// Reads back the output of printable(), which proves that two texts never look the same.

#include <optional>
#include <string>

#include "base/bytes.h"

namespace tenure::test {

inline std::string utf8_of(char32_t code) {
  const auto byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  const auto follow = [&](int shift) { return byte(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0U | code >> 6U), follow(0)};
  if (code < 0x10000) return {byte(0xE0U | code >> 12U), follow(6), follow(0)};
  return {byte(0xF0U | code >> 18U), follow(12), follow(6), follow(0)};
}

// Nothing for what printable() does not write.
inline std::optional<std::string> read_printable(BytesView text) {
  std::string bytes;
  while (!text.empty()) {
    const char first = text[0];
    text.remove_prefix(1);
    if (first != '\\') {
      bytes += first;
      continue;
    }
    if (text.empty()) return std::nullopt;
    const char kind = text[0];
    text.remove_prefix(1);
    std::size_t digits = 0;
    switch (kind) {
      case '\\': bytes += '\\'; break;
      case 'n': bytes += '\n'; break;
      case 'r': bytes += '\r'; break;
      case 't': bytes += '\t'; break;
      case 'x':
        if (text.size() < 2) return std::nullopt;
        bytes += static_cast<char>(std::stoi(std::string(text.substr(0, 2)), nullptr, 16));
        text.remove_prefix(2);
        break;
      case 'u':
        digits = text.find('}');
        if (digits == BytesView::npos || text[0] != '{') return std::nullopt;
        bytes += utf8_of(static_cast<char32_t>(std::stoul(std::string(text.substr(1, digits - 1)), nullptr, 16)));
        text.remove_prefix(digits + 1);
        break;
      default: return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace tenure::test

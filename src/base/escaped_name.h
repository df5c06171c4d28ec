#pragma once

// A pool's name may have any characters. A name of a file, a key or a topic may not.

#include <string>
#include <string_view>

namespace tenure {

constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Letters, digits and the characters of `others` stay as they are. Any other byte becomes `mark` and two hexadecimal
// digits. Different names stay different, as long as `others` does not contain `mark`.
inline std::string escaped_name(std::string_view name, std::string_view others, char mark) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string escaped;
  for (const char c : name) {
    if (is_letter_or_digit(c) || others.find(c) != std::string_view::npos) {
      escaped += c;
    } else {
      escaped += mark;
      escaped += kHex[static_cast<unsigned char>(c) >> 4];
      escaped += kHex[static_cast<unsigned char>(c) & 0xF];
    }
  }
  return escaped;
}

inline std::string file_name_of(std::string_view name) { return escaped_name(name, "-_", '%'); }

}  // namespace tenure

#pragma once

// A pool's name may have any characters, a file's name may not.

#include <string>
#include <string_view>

namespace tenure {

// Letters, digits, `-` and `_` stay as they are; any other byte becomes `%` and two hexadecimal digits. Different names
// stay different.
inline std::string file_name_of(std::string_view name) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string made;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (plain) {
      made += c;
    } else {
      made += '%';
      made += kHex[static_cast<unsigned char>(c) >> 4];
      made += kHex[static_cast<unsigned char>(c) & 0xF];
    }
  }
  return made;
}

}  // namespace tenure

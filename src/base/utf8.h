#pragma once

// Characters in UTF-8: the shortest form only, no surrogates, nothing above U+10FFFF.

#include <cstddef>

#include "base/bytes.h"

namespace tenure {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // zero: there is no character
};

// The character that the text begins with. None if the text is empty, or begins with bytes that are no character.
Utf8Character first_character(BytesView text);

// Whether the bytes are text, from the first to the last.
bool is_utf8(BytesView bytes);

// The longest beginning of the text that has at most `bytes_max` bytes and does not end within a character.
BytesView cut_at_character(BytesView text, std::size_t bytes_max);

}  // namespace tenure

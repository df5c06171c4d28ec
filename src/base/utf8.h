#pragma once

// Decodes UTF-8. Accepts only the shortest form, no surrogates, and nothing above U+10FFFF.

#include <cstddef>

#include "base/bytes.h"

namespace tenure {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // zero: not a character
};

// The first character of the text. Size zero if the text is empty, or starts with bytes that are not a character.
Utf8Character first_character(BytesView text);

// Whether the bytes are text, from the first to the last.
bool is_utf8(BytesView bytes);

// The longest prefix of at most `bytes_max` bytes that does not end within a character.
BytesView cut_at_character(BytesView text, std::size_t bytes_max);

}  // namespace tenure

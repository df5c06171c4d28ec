#include "base/utf8.h"

namespace tenure {
namespace {

constexpr unsigned kFollowMask = 0xC0;
constexpr unsigned kFollow = 0x80;

unsigned byte_at(BytesView text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// The size of a character with this first byte. Zero if no character starts with it.
std::size_t size_by_first(unsigned first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

bool is_character(char32_t code, std::size_t bytes) {
  if (bytes == 3) return code >= 0x800 && (code < 0xD800 || code > 0xDFFF);
  if (bytes == 4) return code >= 0x10000 && code <= 0x10FFFF;
  return true;  // the first byte excludes all other errors
}

}  // namespace

Utf8Character first_character(BytesView text) {
  if (text.empty()) return {};
  const unsigned first = byte_at(text, 0);
  const std::size_t bytes = size_by_first(first);
  if (bytes == 1) return {first, 1};
  if (bytes == 0 || bytes > text.size()) return {};
  char32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const unsigned byte = byte_at(text, i);
    if ((byte & kFollowMask) != kFollow) return {};
    code = code << 6U | (byte & ~kFollowMask);
  }
  if (!is_character(code, bytes)) return {};
  return {code, bytes};
}

BytesView cut_at_character(BytesView text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  // A character has at most four bytes. A longer sequence without a first byte is not UTF-8 and may be cut anywhere.
  for (std::size_t back = 0; back < 4 && back <= bytes_max; ++back) {
    const std::size_t at = bytes_max - back;
    if ((byte_at(text, at) & kFollowMask) != kFollow) return text.substr(0, at);
  }
  return text.substr(0, bytes_max);
}

bool is_utf8(BytesView bytes) {
  while (!bytes.empty()) {
    const std::size_t size = first_character(bytes).bytes;
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace tenure

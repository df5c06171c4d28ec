#include "exec/text.h"

#include <array>
#include <cstdint>

namespace tenure::exec {
namespace {

constexpr BytesView kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// How many bytes the character that begins with this one has; zero if none does.
std::size_t utf8_size(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

bool follows(BytesView character) {
  for (const char byte : character.substr(1)) {
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) return false;
  }
  return true;
}

}  // namespace

// The shortest form only, no surrogates, nothing above U+10FFFF.
bool is_utf8(BytesView bytes) {
  while (!bytes.empty()) {
    const auto first = static_cast<unsigned char>(bytes[0]);
    const std::size_t size = utf8_size(first);
    if (size == 0 || size > bytes.size() || !follows(bytes.substr(0, size))) return false;
    if (size > 2) {
      const auto second = static_cast<unsigned char>(bytes[1]);
      if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return false;
      if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return false;
    }
    bytes.remove_prefix(size);
  }
  return true;
}

Bytes to_base64(BytesView bytes) {
  Bytes text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const BytesView part = bytes.substr(at, 3);
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8U | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= part.size() ? kDigits[group >> (18 - 6 * i) & 63U] : '=';
    }
  }
  return text;
}

std::optional<Bytes> from_base64(BytesView text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  Bytes bytes;
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (const char digit : text) {
    const std::size_t value = kDigits.find(digit);
    if (value == BytesView::npos) return std::nullopt;
    group = (group << 6U | static_cast<std::uint32_t>(value)) & 0xFFFFU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xFFU);
  }
  return bytes;
}

}  // namespace tenure::exec

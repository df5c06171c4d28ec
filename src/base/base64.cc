#include "base/base64.h"

#include <array>
#include <cstdint>

namespace tenure {
namespace {

constexpr BytesView kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

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
      text += i <= part.size() ? kBase64Digits[group >> (18 - 6 * i) & 63U] : '=';
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
    const std::size_t value = kBase64Digits.find(digit);
    if (value == BytesView::npos) return std::nullopt;
    group = (group << 6U | static_cast<std::uint32_t>(value)) & 0xFFFFU;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xFFU);
  }
  return bytes;
}

}  // namespace tenure

#pragma once

// Splits a fuzzer's input into several parts. Each part starts with its length in two bytes, low byte first. The last
// part may be cut short.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace tenure::test {

inline std::vector<Bytes> split_parts(const std::uint8_t* data, std::size_t size) {
  std::vector<Bytes> parts;
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = data[at] | static_cast<std::size_t>(data[at + 1]) << 8;
    at += 2;
    const std::size_t end = std::min(at + length, size);
    parts.emplace_back(data + at, data + end);
    at = end;
  }
  return parts;
}

inline Bytes join_parts(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) {
    all += static_cast<char>(part.size() & 0xff);
    all += static_cast<char>(part.size() >> 8 & 0xff);
    all += part;
  }
  return all;
}

}  // namespace tenure::test

#pragma once

// Encodes commands for the Redis protocol.

#include <initializer_list>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace tenure::redis {

Bytes command(std::span<const std::string_view> words);
inline Bytes command(std::initializer_list<std::string_view> words) {
  return command(std::span<const std::string_view>(words.begin(), words.size()));
}
// The last word consists of two parts.
Bytes command(std::initializer_list<std::string_view> words, BytesView front, BytesView back);

}  // namespace tenure::redis

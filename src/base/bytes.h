#pragma once

// Bytes are std::string and std::string_view: what protobuf, SQLite and users hand over, without copies.

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure {

using Bytes = std::string;
using BytesView = std::string_view;

// XXH3-64. The value is part of the formats (cursors, digests, assignment) and must never change.
std::uint64_t hash_bytes(BytesView bytes);

// Mixes one word into a running hash. Order matters. Part of the formats, like hash_bytes.
constexpr std::uint64_t hash_mix(std::uint64_t state, std::uint64_t word) {
  std::uint64_t value = (state ^ word) * 0x9E3779B97F4A7C15ULL;
  value ^= value >> 32;
  value *= 0xD6E8FEB86659FD93ULL;
  value ^= value >> 29;
  return value + (state << 1 | state >> 63);
}

std::string to_hex(std::uint64_t word);

}  // namespace tenure

#pragma once

// The limits of one emit (tenure/emit.hpp), in one place: the library and the rules of the pool share them.

#include <cstddef>
#include <cstdint>

namespace tenure {

// Its tasks, and the bytes of their keys, payloads and types together.
inline constexpr std::size_t kEmitTasksMax = 4096;
inline constexpr std::size_t kEmitBytesMax = (1U << 20) + (64U << 10);
// Positions are 1 to 2^62 - 1.
inline constexpr std::uint64_t kEmitPositionMax = (1ULL << 62) - 1;

}  // namespace tenure

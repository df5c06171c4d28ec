#pragma once

// Ids of a stream's entries, MILLISECONDS-COUNT, as positions of events. The log keeps 22 bits of the count
// (log/redis/entry_id.h). A pool takes positions below 2^62 only (tenure/emit_limits.hpp), so here it is 20 bits: a
// million entries in a millisecond, until the year 2109.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::source::redis {

constexpr unsigned kCountBits = 20;
constexpr std::uint64_t kCountMax = (std::uint64_t{1} << kCountBits) - 1;
constexpr std::uint64_t kMsMax = (std::uint64_t{1} << (62 - kCountBits)) - 1;

std::string id_at(std::uint64_t position);
// Nothing if it is not an id, or one that is no position. 0-0 is position zero.
std::optional<std::uint64_t> position_of(std::string_view id);
// The nearest position to any id, good enough for a comparison.
std::uint64_t near_position(std::string_view id);

inline std::int64_t ms_at(std::uint64_t position) { return static_cast<std::int64_t>(position >> kCountBits); }

}  // namespace tenure::source::redis

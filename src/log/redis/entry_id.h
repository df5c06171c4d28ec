#pragma once

// Converts the ids that the server gives to a stream's entries, MILLISECONDS-COUNT, into positions. The count starts at
// zero with each millisecond of the server's clock. If the clock was set back, the count continues until it catches up.
// Both fit into 64 bits until the year 2109 as long as the count does not overflow: a client that has seen it half full
// requests the next millisecond by name (append_lane.cc). Appends in flight are far fewer than the other half.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "log/log.h"

namespace tenure::redis {

constexpr unsigned kIdCountBits = 22;
constexpr Position kIdCountMax = (Position{1} << kIdCountBits) - 1;

inline std::int64_t time_of(Position position) { return static_cast<std::int64_t>(position >> kIdCountBits); }
inline bool is_crowded(Position position) { return (position & kIdCountMax) > kIdCountMax / 2; }

std::string id_of(Position position);
// Nothing if it is not an id, or not one that our servers give.
std::optional<Position> parse_id(std::string_view id);

}  // namespace tenure::redis

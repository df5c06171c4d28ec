#pragma once

// The ids that the server gives to a stream's entries, MILLISECONDS-COUNT, as positions. The count begins at zero with
// each millisecond of the server's clock, and goes on where that was set back, for as long as it takes to catch up. So
// both fit into 64 bits until the year 2109, as long as nobody lets the count run over: whoever has seen it half full
// asks for the next millisecond by name (append_lane.cc). What may be under way at a time is far less than the other
// half.

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
// Nothing where it is no id, or one that no server of ours has given.
std::optional<Position> parse_id(std::string_view id);

}  // namespace tenure::redis

#pragma once

// Renders the tenures of a key: who held it, from when to when, and why it moved.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "machine/effects.h"
#include "render/json.h"
#include "render/table.h"

namespace tenure::v1 {
class Told;
}  // namespace tenure::v1

namespace tenure::render {

constexpr std::string_view kQuarantine = "quarantine";
std::string_view reason_of(TenureEnd why);
// Date and time of this host's zone, with milliseconds.
std::string clock_time(std::int64_t ms);

struct Tenure {
  std::uint64_t epoch = 0;
  Bytes worker;
  std::int64_t granted_ms = 0;
  std::optional<std::int64_t> started_ms;
  std::optional<std::int64_t> ended_ms;
  std::string_view reason;
  std::optional<std::int64_t> gap_ms;  // time without a running holder before it
  Bytes error{};                       // if it ended by that
};

// The tenures of a key that a state keeps (v1::Ask::history), oldest first. The state is our own or a member's.
std::vector<Tenure> kept_history(const v1::Told& told);
// Fills in the gaps from the other fields.
std::vector<Tenure> with_gaps(std::vector<Tenure> history);

// {"key","history":[{"epoch","worker","granted_ms","started_ms","ended_ms","reason","gap_ms","error"}]}
Json json_of_history(const std::string& key, const std::vector<Tenure>& history);
Table table_of_history(const std::vector<Tenure>& history);

}  // namespace tenure::render

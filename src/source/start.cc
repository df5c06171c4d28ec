// Where a source is begun, as a person writes it.

#include <algorithm>
#include <charconv>
#include <ctime>

#include "source/source.h"

namespace tenure::source {
namespace {

constexpr const char* kOperation = "read where to start";

Failure not_a_start(std::string_view text) {
  return fail(Errc::invalid, kOperation,
              "'" + std::string(text) +
                  "' is not a start: write oldest, newest, a position, a time such as 2026-11-19T17:00:00Z, or -15m");
}

template <class Number>
bool read_all(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

// "-15m": so long ago. Zero if it is no such duration.
std::int64_t ago_ms(std::string_view text) {
  if (text.size() < 3 || text.front() != '-') return 0;
  std::int64_t unit = 0;
  switch (text.back()) {
    case 's': unit = 1000; break;
    case 'm': unit = 60'000; break;
    case 'h': unit = 3'600'000; break;
    case 'd': unit = 86'400'000; break;
    default: return 0;
  }
  std::uint32_t count = 0;
  return read_all(text.substr(1, text.size() - 2), count) ? unit * count : 0;
}

std::optional<std::int64_t> time_ms(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  const char* const end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::int64_t{timegm(&parts)} * 1000;
}

}  // namespace

Result<StartAt> parse_start(std::string_view text, std::int64_t now_ms) {
  StartAt at;
  if (text == "oldest") return at;
  if (text == "newest") {
    at.kind = StartAt::Kind::newest;
    return at;
  }
  if (read_all(text, at.position)) {
    if (at.position == 0) return not_a_start(text);
    at.kind = StartAt::Kind::position;
    return at;
  }
  at.kind = StartAt::Kind::time;
  if (const std::int64_t ago = ago_ms(text); ago > 0) {
    at.time_ms = now_ms - ago;
    return at;
  }
  const std::optional<std::int64_t> time = time_ms(text);
  if (!time) return not_a_start(text);
  at.time_ms = *time;
  return at;
}

std::optional<std::uint64_t> start_behind(const StartAt& at, const Ends& ends) {
  switch (at.kind) {
    case StartAt::Kind::oldest: return ends.first - 1;
    case StartAt::Kind::newest: return ends.last;
    case StartAt::Kind::position: return std::max<std::uint64_t>(at.position, 1) - 1;
    case StartAt::Kind::time: break;
  }
  return std::nullopt;
}

}  // namespace tenure::source

#include "log/redis/entry_id.h"

#include <charconv>

namespace tenure::redis {
namespace {

bool parse_number(std::string_view text, std::uint64_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string id_of(Position position) {
  return std::to_string(position >> kIdCountBits) + "-" + std::to_string(position & kIdCountMax);
}

std::optional<Position> parse_id(std::string_view id) {
  const std::size_t dash = id.find('-');
  std::uint64_t ms = 0;
  std::uint64_t count = 0;
  if (dash == std::string_view::npos || !parse_number(id.substr(0, dash), ms) ||
      !parse_number(id.substr(dash + 1), count)) {
    return std::nullopt;
  }
  if (ms > UINT64_MAX >> kIdCountBits || count > kIdCountMax) return std::nullopt;
  return ms << kIdCountBits | count;
}

}  // namespace tenure::redis

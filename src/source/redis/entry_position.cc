#include "source/redis/entry_position.h"

#include <algorithm>
#include <charconv>

namespace tenure::source::redis {
namespace {

struct EntryId {
  std::uint64_t ms = 0;
  std::uint64_t count = 0;
};

bool read_part(std::string_view text, std::uint64_t& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<EntryId> parse(std::string_view id) {
  const std::size_t dash = id.find('-');
  EntryId parsed;
  if (dash == std::string_view::npos || !read_part(id.substr(0, dash), parsed.ms) ||
      !read_part(id.substr(dash + 1), parsed.count)) {
    return std::nullopt;
  }
  return parsed;
}

}  // namespace

std::string id_at(std::uint64_t position) {
  return std::to_string(position >> kCountBits) + "-" + std::to_string(position & kCountMax);
}

std::optional<std::uint64_t> position_of(std::string_view id) {
  const std::optional<EntryId> parsed = parse(id);
  if (!parsed || parsed->ms > kMsMax || parsed->count > kCountMax) return std::nullopt;
  return parsed->ms << kCountBits | parsed->count;
}

std::uint64_t near_position(std::string_view id) {
  const std::optional<EntryId> parsed = parse(id);
  if (!parsed) return 0;
  return std::min(parsed->ms, kMsMax) << kCountBits | std::min(parsed->count, kCountMax);
}

}  // namespace tenure::source::redis

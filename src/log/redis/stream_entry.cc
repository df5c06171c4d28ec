#include "log/redis/stream_entry.h"

#include <charconv>

#include "log/redis/entry_id.h"

namespace tenure::redis {

std::uint64_t parse_word(std::string_view hex) {
  std::uint64_t word = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), word, 16);
  return hex.size() == 16 && error == std::errc() && end == hex.data() + hex.size() ? word : 0;
}

std::uint64_t link_of(Value reply) {
  const Value fields = reply[1];
  return fields.size() == 4 && fields[0].text() == kDataField ? parse_word(fields[3].text()) : 0;
}

Result<StreamEntry> parse_entry(Value reply, const std::string& place) {
  const std::optional<Position> position = parse_id(reply[0].text());
  const std::uint64_t link = link_of(reply);
  if (!position || link == 0) {
    return fail(Errc::corrupt, "redis read",
                place + ": entry " + std::string(reply[0].text()) +
                    " is none of Tenure's: another program appends to the stream");
  }
  return StreamEntry{.entry = {.position = *position, .time_ms = time_of(*position), .data = Bytes(reply[1][1].text())},
                     .link = link};
}

}  // namespace tenure::redis

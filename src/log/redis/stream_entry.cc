#include "log/redis/stream_entry.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "log/redis/entry_id.h"

namespace tenure::redis {
namespace {

// In the byte order of the host, which is the same on all supported platforms.
constexpr std::size_t kLinkBytes = sizeof(std::uint64_t);
static_assert(std::endian::native == std::endian::little);

}  // namespace

std::uint64_t parse_word(std::string_view hex) {
  std::uint64_t word = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), word, 16);
  return hex.size() == 16 && error == std::errc() && end == hex.data() + hex.size() ? word : 0;
}

std::string link_bytes(std::uint64_t link) {
  std::string bytes(kLinkBytes, '\0');
  std::memcpy(bytes.data(), &link, kLinkBytes);
  return bytes;
}

std::uint64_t parse_link(BytesView bytes) {
  std::uint64_t link = 0;
  if (bytes.size() >= kLinkBytes) std::memcpy(&link, bytes.data(), kLinkBytes);
  return link;
}

std::uint64_t link_of(Value reply) {
  const Value fields = reply[1];
  return fields.size() == 2 && fields[0].text() == kEntryField ? parse_link(fields[1].text()) : 0;
}

Result<StreamEntry> parse_entry(Value reply, const std::string& place) {
  const std::optional<Position> position = parse_id(reply[0].text());
  const std::uint64_t link = link_of(reply);
  if (!position || link == 0) {
    return fail(Errc::corrupt, "redis read",
                place + ": entry " + std::string(reply[0].text()) +
                    " was not written by Tenure: another program appends to the stream");
  }
  return StreamEntry{.entry = {.position = *position,
                               .time_ms = time_of(*position),
                               .data = Bytes(reply[1][1].text().substr(kLinkBytes))},
                     .link = link};
}

}  // namespace tenure::redis

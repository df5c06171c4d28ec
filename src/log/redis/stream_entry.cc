#include "log/redis/stream_entry.h"

#include <charconv>

#include "log/redis/scripts.h"

namespace tenure::redis {
namespace {

template <class Number>
bool parse(std::string_view text, Number& into, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::uint64_t parse_word(std::string_view hex) {
  std::uint64_t word = 0;
  return hex.size() == 16 && parse(hex, word, 16) ? word : 0;
}

Result<StreamEntry> parse_entry(Value reply, const std::string& place) {
  const std::string_view id = reply[0].text();
  const Value fields = reply[1];
  StreamEntry parsed;
  const std::size_t dash = id.find('-');
  const bool good = dash != std::string_view::npos && parse(id.substr(0, dash), parsed.entry.position) &&
                    parse(id.substr(dash + 1), parsed.entry.time_ms) && fields.size() == 6 &&
                    fields[0].text() == kEntryField;
  parsed.link = parse_word(fields[3].text());
  parsed.prev = parse_word(fields[5].text());
  if (!good || parsed.link == 0 || parsed.prev == 0) {
    return fail(Errc::corrupt, "redis read",
                place + ": entry " + std::string(id) + " is none of Tenure's: another program appends to the stream");
  }
  parsed.entry.data = fields[1].text();
  return parsed;
}

}  // namespace tenure::redis

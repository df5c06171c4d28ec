#include "source/redis/stream_look.h"

#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "log/redis/entry_id.h"

namespace tenure::source::redis {
namespace {

using tenure::redis::Value;

// An id that somebody chose may be too large for a position. The nearest one is good enough for a comparison.
std::uint64_t nearest_position(std::string_view id) {
  if (const auto position = tenure::redis::parse_id(id)) return *position;
  const std::size_t dash = std::min(id.find('-'), id.size());
  std::uint64_t ms = 0;
  std::from_chars(id.data(), id.data() + dash, ms);
  if (ms > UINT64_MAX >> tenure::redis::kIdCountBits) return UINT64_MAX;
  return ms << tenure::redis::kIdCountBits | tenure::redis::kIdCountMax;
}

std::string json_of(Value fields) {
  std::string json = "{";
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const std::string_view name = fields[i].text();
    const std::string_view value = fields[i + 1].text();
    const bool text = is_utf8(value);
    if (i != 0) json += ",";
    json += json_string(text ? Bytes(name) : Bytes(name).append("_base64"));
    json.append(":").append(json_string(text ? Bytes(value) : to_base64(value)));
  }
  return json + "}";
}

}  // namespace

StreamLook parse_look(Value reply) {
  const auto count = [&](std::size_t index) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(reply[index].integer(), 0));
  };
  return {.added = count(0),
          .length = count(1),
          .first = nearest_position(reply[2].text()),
          .last = nearest_position(reply[3].text()),
          .deleted = nearest_position(reply[4].text())};
}

Result<Event> parse_event(Value reply, const std::string& place) {
  const std::string_view id = reply[0].text();
  const auto position = tenure::redis::parse_id(id);
  if (!position || *position == 0) {
    return fail(
        Errc::invalid, "redis read stream",
        place + ": the entry " + std::string(id) +
            " has an id that is no position: let the server choose the ids (XADD KEY * …), and delete this one");
  }
  Event event;
  event.position = *position;
  event.time_ms = tenure::redis::time_of(*position);
  const Value fields = reply[1];
  bool payload = false;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const std::string_view name = fields[i].text();
    const std::string_view value = fields[i + 1].text();
    if (name == "payload") {
      event.payload = value;
      payload = true;
    } else if (name == "key") {
      event.key = Bytes(value);
    } else if (name == "name") {
      event.name = value;
    } else if (name == "topic") {
      event.topic = value;
    }
  }
  if (!payload) event.payload = json_of(fields);
  return event;
}

}  // namespace tenure::source::redis

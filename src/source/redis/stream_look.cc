#include "source/redis/stream_look.h"

#include <algorithm>

#include "base/base64.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "source/redis/entry_position.h"

namespace tenure::source::redis {
namespace {

using tenure::redis::Value;

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
          .first = near_position(reply[2].text()),
          .last = near_position(reply[3].text()),
          .deleted = near_position(reply[4].text())};
}

Result<Event> parse_event(Value reply, const std::string& place) {
  const std::string_view id = reply[0].text();
  const auto position = position_of(id);
  if (!position || *position == 0) {
    return fail(
        Errc::invalid, "redis read stream",
        place + ": the entry " + std::string(id) +
            " has an id that cannot be a position: let the server choose the ids (XADD KEY * …), and delete this one");
  }
  Event event;
  event.position = *position;
  event.time_ms = ms_at(*position);
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

#pragma once

// What Redis tells about a stream, and how its entries become events.

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "log/redis/reply.h"
#include "source/source.h"

namespace tenure::source::redis {

// As of one moment. Redis counts what was ever added. So the number of entries that were trimmed is known, even though
// ids are not consecutive.
struct StreamLook {
  std::uint64_t added = 0;    // entries that were ever added
  std::uint64_t length = 0;   // entries that are there
  std::uint64_t first = 0;    // position of the oldest entry; zero if there is none
  std::uint64_t last = 0;     // position of the newest entry that there ever was; zero if there was none
  std::uint64_t deleted = 0;  // the highest position that was deleted by XDEL; trims do not count

  std::uint64_t dropped() const { return added > length ? added - length : 0; }
  Ends ends() const { return {length == 0 ? last + 1 : first, last}; }
};

// [added, length, first, last, deleted]
StreamLook parse_look(tenure::redis::Value reply);

// [id, [field, value, …]]. The fields payload, key, name and topic are those of the event. An entry without a field
// `payload` was written by a program that knows nothing of events: its payload is a JSON object of all its fields, in
// their order, with bytes that are not UTF-8 as FIELD_base64. Errc::invalid if the id cannot be a position.
Result<Event> parse_event(tenure::redis::Value reply, const std::string& place);

}  // namespace tenure::source::redis

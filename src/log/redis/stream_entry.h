#pragma once

// Parses one entry of the stream (scripts.h) from a server's reply.

#include "log/log.h"
#include "log/redis/reply.h"

namespace tenure::redis {

struct StreamEntry {
  Entry entry;
  std::uint64_t link = 0;
};

constexpr std::string_view kEntryField = "tenure";

// `reply` is [id, [field, value, …]]. Errc::corrupt for an entry that is not ours.
Result<StreamEntry> parse_entry(Value reply, const std::string& place);
// The link of such an entry, without copying its data. Zero if it has none.
std::uint64_t link_of(Value reply);

// A link in its binary form, as it precedes an entry's data.
std::string link_bytes(std::uint64_t link);
// Zero if the bytes are too short.
std::uint64_t parse_link(BytesView bytes);

// A log's id or a hash as stored in Redis: 16 hexadecimal digits. Zero if the text is something else.
std::uint64_t parse_word(std::string_view hex);

}  // namespace tenure::redis

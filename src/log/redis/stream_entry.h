#pragma once

// One entry of the stream, as scripts.h describes it, from a server's reply.

#include "log/log.h"
#include "log/redis/reply.h"

namespace tenure::redis {

struct StreamEntry {
  Entry entry;
  std::uint64_t link = 0;
};

constexpr std::string_view kEntryField = "tenure";

// `reply` is [id, [field, value, …]]. Errc::corrupt for an entry that is none of ours.
Result<StreamEntry> parse_entry(Value reply, const std::string& place);
// Of such an entry, without a copy of its data. Zero where it has none.
std::uint64_t link_of(Value reply);

// A link as it stands before an entry's data.
std::string link_bytes(std::uint64_t link);
// Zero where there is none.
std::uint64_t parse_link(BytesView bytes);

// A log's id or a hash as it stands in Redis: 16 hexadecimal digits. Zero where it is none.
std::uint64_t parse_word(std::string_view hex);

}  // namespace tenure::redis

#include "source/source.h"

namespace tenure::source {

Mark mark_of(const Event& event) {
  std::uint64_t hash = hash_bytes(event.payload);
  hash = hash_mix(hash, hash_bytes(event.key ? *event.key : Bytes()));
  hash = hash_mix(hash, static_cast<std::uint64_t>(event.time_ms));
  return {event.position, hash_mix(hash, event.position) | 1};
}

Status check_added(const std::vector<Event>& events) {
  std::size_t bytes = 0;
  for (const Event& event : events) bytes += event.bytes();
  if (events.size() <= kAddEventsMax && bytes <= kAddBytesMax) return {};
  return fail(Errc::invalid, "add to stream", "one call takes up to 4096 events and 8 MiB: add them in several calls");
}

Status check_only_partition(BytesView partition) {
  if (partition == "0") return {};
  return fail(Errc::no_such_key, "read source", "there is one partition, 0");
}

}  // namespace tenure::source

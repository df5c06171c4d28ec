#include "source/source.h"

namespace tenure::source {

Mark mark_of(const Event& event) {
  std::uint64_t hash = hash_bytes(event.payload);
  hash = hash_mix(hash, hash_bytes(event.key ? *event.key : Bytes()));
  hash = hash_mix(hash, static_cast<std::uint64_t>(event.time_ms));
  return {event.position, hash_mix(hash, event.position) | 1};
}

std::size_t Event::bytes() const {
  std::size_t all = (key ? key->size() : 0) + name.size() + topic.size() + payload.size();
  for (const auto& [header, value] : headers) all += header.size() + value.size();
  return all;
}

Result<std::vector<Bytes>> StreamWriter::add_named(const std::vector<Event>& events) {
  const auto added = add(events);
  if (!added) return Failure(added.error());
  std::vector<Bytes> names;
  for (const std::uint64_t position : *added) names.push_back("0/" + std::to_string(position));
  return names;
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

#include "source/source.h"

namespace tenure::source {

Mark mark_of(const Event& event) {
  std::uint64_t hash = hash_bytes(event.payload);
  hash = hash_mix(hash, hash_bytes(event.key ? *event.key : Bytes()));
  hash = hash_mix(hash, static_cast<std::uint64_t>(event.time_ms));
  return {event.position, hash_mix(hash, event.position) | 1};
}

}  // namespace tenure::source

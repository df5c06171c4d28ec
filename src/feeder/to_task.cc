#include "feeder/to_task.h"

#include <utility>

#include "machine/limits.h"
#include "machine/own_names.h"

namespace tenure::feeder {
namespace {

std::string too_large(const char* what, std::size_t bytes, std::size_t limit) {
  return std::string("the event cannot be a task: its ") + what + " has " + std::to_string(bytes) + " bytes; at most " +
         std::to_string(limit) + " are allowed";
}

}  // namespace

EmitTask to_task(source::Event event, const Spec& spec, const source::Source& names, BytesView prefix) {
  EmitTask task;
  task.position = event.position;
  task.type = spec.type;
  task.max_attempts = spec.max_attempts;
  const bool keyed = spec.by_key && event.key && !event.key->empty() && !is_own_key(*event.key);
  if (keyed && event.key->size() <= kKeyBytesMax) {
    task.key = *std::move(event.key);
  } else {
    const Bytes name = names.event_name(event.position);
    task.key.reserve(prefix.size() + name.size());
    task.key.append(prefix).append(name);
    if (keyed) task.error = too_large("key", event.key->size(), kKeyBytesMax);
  }
  if (event.payload.size() > kPayloadBytesMax) {
    task.error = too_large("payload", event.payload.size(), kPayloadBytesMax) + "; this is its beginning";
    event.payload.resize(kLetterBytesMax);
  }
  task.payload = std::move(event.payload);
  return task;
}

}  // namespace tenure::feeder

#pragma once

// The sources of a run: each has events 1, 2, 3, … with tasks that follow from its name and the number alone, as the
// lines of a file would. So the checker knows what every emit must bring. A source is emitted in parts, like that of a
// pool with shards: each part has a position of its own, and gets only its own tasks.

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace tenure::sim {

constexpr std::uint32_t kSourceParts = 2;

struct SequenceTask {
  std::uint64_t event;
  std::uint32_t index;  // among the tasks of the event
  std::string key;
  std::uint32_t part;
};

// Some events are lost before anybody reads them: whole blocks, as retention takes them. A loss is reported to one
// part.
inline bool is_lost_event(const std::string& source, std::uint64_t event) {
  constexpr std::uint64_t kBlock = 8;
  return hash_mix(hash_bytes(source), ~(event / kBlock)) % 5 == 0;
}
inline std::uint32_t part_of_losses(const std::string& source) {
  return static_cast<std::uint32_t>(hash_bytes(source) % kSourceParts);
}

// The tasks of an event, in order. Most are for keys of the source's own, some for those of other tasks, and a few for
// keys that may have a resident.
inline std::vector<SequenceTask> tasks_of_event(const std::string& source, std::uint64_t event) {
  std::vector<SequenceTask> tasks;
  if (is_lost_event(source, event)) return tasks;
  const std::uint64_t dice = hash_mix(hash_bytes(source), event);
  for (std::uint32_t i = 0; i < dice % 3; ++i) {
    const std::uint64_t one = hash_mix(dice, i);
    std::string key = one % 16 == 0 ? "key-" : one % 16 < 4 ? "task-" : "of-" + source + "-";
    key += std::to_string(one / 16 % 3);
    const auto part = static_cast<std::uint32_t>(hash_bytes(key) % kSourceParts);
    tasks.push_back({event, i, std::move(key), part});
  }
  return tasks;
}

// In the pool each part is a source of its own.
inline std::string name_of_part(const std::string& source, std::uint32_t part) {
  return source + "#" + std::to_string(part);
}
inline std::string source_of_part(const std::string& name) { return name.substr(0, name.rfind('#')); }
inline std::uint32_t part_in(const std::string& name) {
  return static_cast<std::uint32_t>(std::stoul(name.substr(name.rfind('#') + 1)));
}

}  // namespace tenure::sim

#pragma once

// The state of the part `sources`.

#include <cstdint>
#include <map>

#include "base/bytes.h"

namespace tenure {

struct Source {
  std::uint64_t position = 0;  // all tasks of the events up to it are in this shard
  std::uint64_t epoch = 0;     // the highest that was heard; older ones are refused
  Bytes key;                   // of that tenure
  std::uint64_t tasks = 0;     // that were taken in
  std::uint64_t buried = 0;    // of them, at once, because their keys had residents
};

struct SourcesState {
  std::map<Bytes, Source, std::less<>> by_name;
};

}  // namespace tenure

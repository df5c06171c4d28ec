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
  std::uint64_t buried = 0;    // of them, at once: their keys had residents, or their events cannot be tasks

  // What only the shard of the key is told.
  std::uint64_t lost = 0;        // events that the source lost before they were read
  std::uint64_t lost_first = 0;  // the last of these ranges
  std::uint64_t lost_last = 0;
  std::uint64_t lost_count = 0;
  std::int64_t lost_ms = 0;  // in log time, when it was reported
  std::uint64_t end = 0;     // the position of the source's newest event, when somebody looked; zero: not known
  Bytes trouble{};           // why the source cannot be read
};

struct SourcesState {
  std::map<Bytes, Source, std::less<>> by_name;
};

}  // namespace tenure

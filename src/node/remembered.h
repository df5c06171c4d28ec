#pragma once

// What a node remembers of a log that was lost, as its join says it.

#include <cstdint>

namespace tenure {

struct Remembered {
  std::uint64_t position = 0;  // of its last entry; zero: nothing
  std::int64_t engine_ms = 0;  // the time of that entry
  bool restores = false;       // the node will put it back, if nobody does so first
  bool fragment = false;       // it is only what came after an earlier loss
};

}  // namespace tenure

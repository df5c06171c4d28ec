#pragma once

// What a handle knows of its log: its id, and the last entry that it has seen. Every connection starts with the proof
// that this is still true. So a loss behind a broken connection (a failover that lost the tail, a restored backup, a
// removed pool) is detected before anything is read or appended.

#include <cstdint>
#include <string>

#include "log/log.h"

namespace tenure::redis {

// Belongs to the loop.
struct History {
  std::uint64_t id = 0;    // of the log; zero before it was opened
  std::string stream;      // its key
  Position seen = 0;       // the last entry that was read, or acknowledged to us
  std::uint64_t link = 0;  // that entry's link
  bool lost = false;       // history was lost, and no snapshot was loaded since

  void see(Position position, std::uint64_t its_link) {
    if (position <= seen) return;
    seen = position;
    link = its_link;
  }
};

}  // namespace tenure::redis

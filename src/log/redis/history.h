#pragma once

// What a handle knows of its log: which one it is, and the last entry it has seen there. Every connection begins with
// the proof that this still holds, so that what happens behind a broken connection (a failover that lost the tail, a
// restored backup, a removed pool) is noticed before anything is read or appended.

#include <cstdint>
#include <string>

#include "log/log.h"

namespace tenure::redis {

// Belongs to the loop.
struct History {
  std::uint64_t id = 0;    // the log's; zero before it was opened
  std::string stream;      // its key
  Position seen = 0;       // the last entry that was read, or acknowledged to us
  std::uint64_t link = 0;  // that entry's link
  bool lost = false;       // and no snapshot was loaded since

  void see(Position position, std::uint64_t its_link) {
    if (position <= seen) return;
    seen = position;
    link = its_link;
  }
};

}  // namespace tenure::redis

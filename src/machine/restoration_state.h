#pragma once

// Whether members may put a lost pool back into this log, and how far they have come.

#include <cstdint>
#include <set>

#include "base/bytes.h"

namespace tenure {

struct RestorationState {
  // Where the state comes from.
  enum class Origin : std::uint8_t {
    open,      // nobody has joined yet, or a node that remembers the pool was the first: it may be put back
    begun,     // a node that remembers nothing was the first to join: it is a new pool
    restored,  // members have put it back
  };

  Origin origin = Origin::open;
  bool joined = false;                      // somebody has
  std::set<std::uint64_t> tickets;          // of jobs that were asked for while it is open; they may be remembered, too
  bool under_way = false;                   // the rest describes it; otherwise the last one
  bool on_request = false;                  // a person has asked for it
  std::uint64_t request = 0;                // which request; what it has brought is not brought again
  std::uint64_t session = 0;                // of the member that puts the state back; zero if it has ended
  std::uint64_t position = 0;               // of what it remembers
  std::uint64_t log = 0;                    // and of which log
  std::uint64_t parts = 0;                  // that were applied
  bool any_key = false;                     // whether there is a last key
  Bytes key;                                // the last one that is back in full
  Bytes partial;                            // the one behind it, if some of its jobs are back:
  std::set<std::uint64_t> partial_tickets;  // these, even if they have ended since
  std::uint64_t keys = 0;                   // counts, for people
  std::uint64_t jobs = 0;
  std::uint64_t left_out = 0;
};

}  // namespace tenure

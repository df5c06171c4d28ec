#pragma once

// Connects the node with its heart, which has its own loop. Calls of the node are posted to the heart's loop, calls of
// the heart to the node's.

#include <cstdint>
#include <functional>
#include <memory>

#include "node/heart.h"
#include "node/node_events.h"

namespace tenure {

// Belongs to the node's loop, except until().
class HeartLine {
 public:
  struct Parts {
    Log& log;
    Loop& loop;
    Loop& heart_loop;
    const Clock& clock;
    Entropy& entropy;
    LeaseHolder* holder;
    NodeEvents& events;  // gets lease_until() on the heart's loop
  };
  // Called on the node's loop. Must be safe to call after the node is gone (Token::guard).
  struct NodeSide {
    std::function<void(std::uint64_t)> armed;  // the heart now watches this session's lease
    std::function<void(std::uint64_t)> lost;   // the session's lease is about to run out
  };

  HeartLine(const Parts& parts, NodeSide node);
  // The heart ends on its own loop.
  ~HeartLine();
  HeartLine(const HeartLine&) = delete;
  HeartLine& operator=(const HeartLine&) = delete;

  void post(std::function<void(Heart&)> work);
  void note_read(Position position);
  // The lease is valid until then, in nanoseconds since boot. Any thread.
  std::int64_t until() const;

 private:
  class HeartSide;

  Loop& heart_loop_;
  std::shared_ptr<HeartSide> side_;
};

}  // namespace tenure

#pragma once

// The node's line to its heart, which lives on a loop of its own. What the node says is posted to the heart's loop;
// what the heart says to the node is posted to the node's.

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
    NodeEvents& events;  // hears of the lease on the heart's loop
  };
  // Called on the node's loop. They must be safe to call once the node is gone (Token::guard).
  struct NodeSide {
    std::function<void(std::uint64_t)> armed;  // the heart watches over this session's lease from here on
    std::function<void(std::uint64_t)> lost;   // the session's lease is about to run out
  };

  HeartLine(const Parts& parts, NodeSide node);
  // The heart ends on its own loop.
  ~HeartLine();
  HeartLine(const HeartLine&) = delete;
  HeartLine& operator=(const HeartLine&) = delete;

  void post(std::function<void(Heart&)> work);
  void note_read(Position position);
  // Nanoseconds since boot up to which the lease is sure. Any thread.
  std::int64_t until() const;

 private:
  class HeartSide;

  Loop& heart_loop_;
  std::shared_ptr<HeartSide> side_;
};

}  // namespace tenure

#pragma once

// The part of a node that lives on the heart's loop. What it has to say to the node goes through the node's loop.

#include <cstdint>
#include <functional>

#include "node/heart.h"
#include "node/node.h"

namespace tenure {

class Node::HeartSide final : private HeartEvents {
 public:
  // To be called on the node's loop.
  struct NodeSide {
    std::function<void(std::uint64_t)> armed;  // a session's lease is watched over from here on
    std::function<void(std::uint64_t)> lost;
  };

  HeartSide(const NodeWorld& world, NodeEvents& events, NodeSide node)
      : loop_(world.loop),
        events_(events),
        node_(std::move(node)),
        heart_(world.log, world.heart_loop, world.clock, world.entropy, world.host, *this) {}

  Heart& heart() { return heart_; }

 private:
  void lease_until(std::uint64_t session, Instant until) override {
    events_.lease_until(session, until);
    if (std::exchange(armed_, session) != session) loop_.post([armed = node_.armed, session] { armed(session); });
  }

  void lease_lost(std::uint64_t session) override {
    loop_.post([lost = node_.lost, session] { lost(session); });
  }

  Loop& loop_;
  NodeEvents& events_;
  NodeSide node_;
  std::uint64_t armed_ = 0;
  Heart heart_;
};

}  // namespace tenure

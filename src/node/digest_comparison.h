#pragma once

// Which members have the same state as this node. Nodes that have applied the same entries must agree.

#include <cstdint>
#include <map>

namespace tenure {

// Belongs to the node's loop.
class DigestComparison {
 public:
  // The member's last digest was this node's own at the same position, or was not.
  void note(std::uint64_t session, bool agrees) { agrees_[session] = agrees; }
  void forget(std::uint64_t session) { agrees_.erase(session); }
  void clear() { agrees_.clear(); }

  // Whether this node is the one that is wrong: most others differ from it, or half of them do and the eldest member is
  // not on its side.
  bool outvoted(std::uint64_t own, std::uint64_t eldest) const;

 private:
  std::map<std::uint64_t, bool> agrees_;  // by session
};

}  // namespace tenure

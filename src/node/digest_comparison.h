#pragma once

// Tracks which members have the same state as this node. Nodes that have applied the same entries must agree.

#include <cstdint>
#include <map>

namespace tenure {

// Belongs to the node's loop.
class DigestComparison {
 public:
  // Records whether the member's last digest equals this node's own at the same position.
  void note(std::uint64_t session, bool agrees) { agrees_[session] = agrees; }
  void forget(std::uint64_t session) { agrees_.erase(session); }
  void clear() { agrees_.clear(); }

  // True if this node is probably wrong: most others differ from it, or half of them do and the eldest member does not
  // agree with it.
  bool outvoted(std::uint64_t own, std::uint64_t eldest) const;

 private:
  std::map<std::uint64_t, bool> agrees_;  // by session
};

}  // namespace tenure

#pragma once

// One of the things that the eldest member does for the whole pool. Each duty keeps only what it has done so far, so
// that another member can take it over at any entry.

#include "machine/machine.h"

namespace tenure {

// Belongs to the node's loop.
class EldestDuty {
 public:
  virtual ~EldestDuty() = default;

  // After each entry, on the eldest member.
  virtual void serve(const Machine& machine) = 0;
  // This node is not the eldest, or not a member, or has another state now. What it said before may have been lost:
  // when it is the eldest again, it begins anew.
  virtual void stand_down() = 0;
};

}  // namespace tenure

#pragma once

// A task that the eldest member does for the whole pool. A duty remembers only what it has done so far, so that another
// member can take it over at any entry.

#include "machine/machine.h"

namespace tenure {

// Belongs to the node's loop.
class EldestDuty {
 public:
  virtual ~EldestDuty() = default;

  // Called after each entry, on the eldest member.
  virtual void serve(const Machine& machine) = 0;
  // This node is not the eldest, or not a member, or has another state now. What it wrote before may be lost. When it
  // is the eldest again, it starts over.
  virtual void stand_down() = 0;
};

}  // namespace tenure

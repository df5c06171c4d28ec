#pragma once

// The tickets that a state still knows. The owner of a ticket that lost track of the log finds out here what became of
// it.

#include <functional>

#include "machine/keys/job_info.h"

namespace tenure {

class TicketSource {
 public:
  virtual ~TicketSource() = default;
  // Calls `visit` for the tickets of all jobs (waiting, held and dead) and of callers that wait for a job to stop.
  virtual void each_ticket(const std::function<void(const TicketView&)>& visit) const = 0;
};

}  // namespace tenure

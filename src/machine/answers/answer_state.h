#pragma once

// Converts ticket states into the states of answers in the log.

#include "machine/effects.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

// `started` and the `done` of jobs need no answer: the holder's own records name the ticket.
inline v1::Answer::State answer_state(TicketState state) {
  switch (state) {
    case TicketState::refused: return v1::Answer::REFUSED;
    case TicketState::failed: return v1::Answer::FAILED;
    case TicketState::stopped: return v1::Answer::STOPPED;
    case TicketState::done: return v1::Answer::DONE;
    case TicketState::accepted:
    case TicketState::started: break;
  }
  return v1::Answer::ACCEPTED;
}

}  // namespace tenure

#include <tenure/kinds.hpp>

namespace tenure {

std::string_view to_string(JobKind kind) { return kind == JobKind::task ? "task" : "resident"; }

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::idle: return "idle";
    case JobState::queued: return "queued";
    case JobState::starting: return "starting";
    case JobState::running: return "running";
    case JobState::stopping: return "stopping";
    case JobState::moving: return "moving";
    case JobState::waiting: return "waiting";
    case JobState::dead: return "dead";
    case JobState::quarantined: return "quarantined";
  }
  return "unnamed";
}

std::string_view to_string(TicketState state) {
  switch (state) {
    case TicketState::accepted: return "accepted";
    case TicketState::refused: return "refused";
    case TicketState::started: return "started";
    case TicketState::done: return "done";
    case TicketState::failed: return "failed";
    case TicketState::stopped: return "stopped";
  }
  return "unnamed";
}

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::stop: return "stop";
    case StopReason::move: return "move";
    case StopReason::start_timeout: return "start_timeout";
    case StopReason::shutdown: return "shutdown";
  }
  return "unnamed";
}

}  // namespace tenure

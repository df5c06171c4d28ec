// Handles the events of a core's node, on the loop.

#include <utility>

#include "pool/member_core.h"

namespace tenure {

std::optional<std::uint64_t> MemberCore::answered() const {
  return node_ ? std::optional(node_->answered()) : std::nullopt;
}

void MemberCore::give_up_tickets(const Error& error) {
  if (node_) node_->give_up_tickets(error);
}

// Called the first time, and again after lost history. The last member removes the log, and a process that only reads
// may find it gone before it has read the end.
void MemberCore::caught_up() {
  const Machine& machine = node_->machine();
  sender_.note_version(machine.version());
  const bool empty = machine.sessions().all.empty() && machine.keys() == 0;
  // The positions that callers wait for may be of the history that was lost.
  for (const EndSoughtPtr& sought : std::exchange(ends_sought_, {})) answer_end(sought, EndSought::Answer::ask_again);
  const bool ended = saw_shutdown_ ? !machine.shutting_down() : caught_up_ && shutting_down_ && empty;
  bool looks_on = false;
  hear([&] {
    caught_up_ = true;
    looks_on = workers_.empty();
  });
  // The order may lie in what was lost, or in a log that was gone when it got there.
  if (!ended && shutting_down_ && !machine.shutting_down()) node_->shut_down();
  if (ended && looks_on) end({Errc::shutting_down, "wait", "the pool was shut down"});
}

void MemberCore::worker_added(BytesView worker) {
  hear([&] {
    const auto found = workers_.find(std::string(worker));
    if (found != workers_.end()) found->second.added = true;
  });
}

void MemberCore::worker_refused(BytesView worker, Errc why) {
  hear([&] {
    const auto found = workers_.find(std::string(worker));
    if (found != workers_.end()) found->second.refused = why;
  });
}

void MemberCore::worker_removed(BytesView worker) {
  hear([&] { workers_.erase(std::string(worker)); });
}

void MemberCore::applied(const Machine& machine) {
  sender_.note_version(machine.version());
  if (!ends_sought_.empty()) tell_ends(machine.position());
  for (const std::shared_ptr<Awaited>& awaited : awaited_) {
    if (awaited->wanted(machine)) hear([&] { awaited->reached = true; });
  }
  has_members_ = !machine.sessions().all.empty();
  // An empty state is what the last member leaves behind.
  const bool seen =
      std::exchange(saw_shutdown_, machine.shutting_down() || (saw_shutdown_ && !has_members_ && machine.keys() == 0));
  if (saw_shutdown_ && !seen && shutdown_seen_) shutdown_seen_();
}

void MemberCore::closed() {
  // The state itself may be gone if another member was the last to leave.
  if (saw_shutdown_ || node_->machine().shutting_down()) {
    end({Errc::shutting_down, "wait", "the pool was shut down"});
  } else {
    end({Errc::closed, "wait", "the pool was closed"});
  }
}

void MemberCore::pool_gone() {
  end({Errc::shutting_down, "wait", "the pool was shut down"});
  on_loop([](Node& node) { node.close(); });  // otherwise it would find its log gone, and create another
}

}  // namespace tenure

#include "node/tickets.h"

#include <algorithm>

#include "tenure/v1/record.pb.h"

namespace tenure {

void Tickets::add(std::uint64_t ticket, bool single, Instant asked) {
  open_[ticket] = {false, false, single, false, asked, markers_};
}

void Tickets::meet(std::uint64_t ticket) {
  if (const auto found = open_.find(ticket); found != open_.end()) found->second.met = true;
}

bool Tickets::met(std::uint64_t ticket) const {
  const auto found = open_.find(ticket);
  return found != open_.end() && found->second.met;
}

std::optional<Instant> Tickets::eldest_unanswered() const {
  std::optional<Instant> eldest;
  for (const auto& [ticket, open] : open_) {
    if (!open.answered && (!eldest || open.asked < *eldest)) eldest = open.asked;
  }
  return eldest;
}

void Tickets::tell(const Settlement& settlement) {
  const auto found = open_.find(settlement.ticket);
  if (found == open_.end()) return;
  const bool accepted = settlement.state == TicketState::accepted;
  const bool started = settlement.state == TicketState::started;
  if (accepted && found->second.answered) return;  // said twice
  found->second.answered = true;
  found->second.started = found->second.started || started;
  if (!started && !(accepted && !found->second.single)) open_.erase(found);
  events_.settled(settlement);
}

void Tickets::append_gave_up() {
  std::vector<std::uint64_t> lost;
  for (const auto& [ticket, open] : open_) {
    if (!open.answered) lost.push_back(ticket);
  }
  lose(std::move(lost));
  if (markers_ != marker_passed_) in_doubt();  // the marker may have been given up with the rest
}

void Tickets::in_doubt() {
  if (open_.empty()) return;
  v1::Record record;
  record.mutable_tick();
  appender_.offer(record, {nullptr, [this, marker = ++markers_](Position at) { markers_ahead_[marker] = at; }});
}

void Tickets::applied(const Machine& machine) {
  const std::uint64_t before = marker_passed_;
  while (!markers_ahead_.empty() && markers_ahead_.begin()->second <= machine.position()) {
    marker_passed_ = markers_ahead_.begin()->first;
    markers_ahead_.erase(markers_ahead_.begin());
  }
  if (marker_passed_ != before && !open_.empty()) judge(machine);
}

void Tickets::judge(const Machine& machine) {
  std::unordered_map<std::uint64_t, TicketView> there;
  machine.each_ticket([&](const TicketView& view) {
    if (open_.contains(view.ticket)) there.emplace(view.ticket, view);
  });
  std::vector<std::uint64_t> lost;
  for (const auto& [ticket, open] : open_) {
    if (open.markers < marker_passed_ && !there.contains(ticket)) lost.push_back(ticket);
  }
  for (const auto& [ticket, view] : there) {
    const auto found = open_.find(ticket);
    const bool told = view.state == TicketState::started && found->second.started;
    tell({ticket, TicketState::accepted, Errc{}, view.epoch, view.worker, {}});
    if (view.state == TicketState::accepted || told) continue;
    const Errc code = view.state == TicketState::failed ? Errc::job_failed : Errc{};
    tell({ticket, view.state, code, view.epoch, view.worker, view.error});
  }
  lose(std::move(lost));
}

void Tickets::lose(std::vector<std::uint64_t> lost) {
  std::sort(lost.begin(), lost.end());
  for (const std::uint64_t ticket : lost) {
    open_.erase(ticket);
    events_.ticket_lost(ticket);
  }
}

}  // namespace tenure

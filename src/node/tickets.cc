#include "node/tickets.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tenure/v1/record.pb.h"

namespace tenure {

void Tickets::add(std::uint64_t ticket, bool single, Instant asked, std::shared_ptr<TicketOwner> owner) {
  open_[ticket] = {std::move(owner), asked, markers_, false, false, single, false};
  ++unanswered_;
}

void Tickets::meet(std::uint64_t ticket) {
  if (Open* open = open_.find(ticket)) open->met = true;
}

bool Tickets::met(std::uint64_t ticket) const {
  const Open* open = open_.find(ticket);
  return open != nullptr && open->met;
}

std::optional<Instant> Tickets::eldest_unanswered() const {
  std::optional<Instant> eldest;
  open_.each([&](std::uint64_t, const Open& open) {
    if (!open.answered && (!eldest || open.asked < *eldest)) eldest = open.asked;
  });
  return eldest;
}

void Tickets::tell(const Settlement& settlement) {
  Open* open = open_.find(settlement.ticket);
  if (open == nullptr) return;
  const bool accepted = settlement.state == TicketState::accepted;
  const bool started = settlement.state == TicketState::started;
  if (accepted && open->answered) return;  // said twice
  if (!std::exchange(open->answered, true)) --unanswered_;
  open->started = open->started || started;
  const bool last = !started && !(accepted && !open->single);
  // Where the dispatcher has thrown its handles away, nobody can get one any more.
  const bool heard = !open->owner || open->owner->settled(settlement) || open->owner.use_count() > 1;
  if (last || !heard) open_.erase(settlement.ticket);
  events_.settled(settlement);
}

void Tickets::append_gave_up() {
  std::vector<std::uint64_t> lost;
  open_.each([&](std::uint64_t ticket, const Open& open) {
    if (!open.answered) lost.push_back(ticket);
  });
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
  open_.each([&](std::uint64_t ticket, const Open& open) {
    if (open.markers < marker_passed_ && !there.contains(ticket)) lost.push_back(ticket);
  });
  for (const auto& [ticket, view] : there) {
    const bool told = view.state == TicketState::started && open_.find(ticket)->started;
    tell({ticket, TicketState::accepted, Errc{}, view.epoch, view.worker, {}});
    if (view.state == TicketState::accepted || told) continue;
    const Errc code = view.state == TicketState::failed ? Errc::job_failed : Errc{};
    tell({ticket, view.state, code, view.epoch, view.worker, view.error});
  }
  lose(std::move(lost));
}

void Tickets::lose(std::vector<std::uint64_t> lost) {
  const Error error{Errc::lost_history, "wait", "the log has lost it, or nobody can say what became of it"};
  std::sort(lost.begin(), lost.end());
  for (const std::uint64_t ticket : lost) {
    const Open gone = std::move(*open_.find(ticket));
    open_.erase(ticket);
    if (!gone.answered) --unanswered_;
    if (gone.owner) gone.owner->given_up(error);
    events_.ticket_lost(ticket);
  }
}

void Tickets::give_up_all(const Error& error) {
  const IdMap<Open> all = std::exchange(open_, {});
  unanswered_ = 0;
  all.each([&](std::uint64_t, const Open& open) {
    if (open.owner) open.owner->given_up(error);
  });
}

}  // namespace tenure

#include "node/tickets.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/fetch_ahead.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr std::uint64_t kTicketsAhead = 8;

}  // namespace

void Tickets::add(std::uint64_t number, bool single, Instant asked, std::shared_ptr<OpenTicket> ticket) {
  if (!ticket) ticket = std::make_shared<OpenTicket>();
  ticket->asked_ = asked;
  ticket->markers_ = markers_;
  ticket->last_is_acceptance_ = single;
  open_[number] = std::move(ticket);
}

void Tickets::add(std::vector<SealedRequests::Asked>& requests, Instant asked) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    // Other threads wrote them, so they come from other processors' caches.
    if (i + kTicketsAhead < requests.size()) {
      fetch_ahead(requests[i + kTicketsAhead].ticket.get(), sizeof(OpenTicket));
    }
    add(requests[i].number, requests[i].single, asked, std::move(requests[i].ticket));
  }
}

void Tickets::meet(std::uint64_t ticket) {
  if (const auto* open = open_.find(ticket)) (*open)->met_ = true;
}

bool Tickets::met(std::uint64_t ticket) const {
  const auto* open = open_.find(ticket);
  return open != nullptr && (*open)->met_;
}

std::optional<Instant> Tickets::eldest_unanswered() const {
  std::optional<Instant> eldest;
  open_.each([&](std::uint64_t, const std::shared_ptr<OpenTicket>& open) {
    if (!open->answered_ && (!eldest || open->asked_ < *eldest)) eldest = open->asked_;
  });
  return eldest;
}

void Tickets::tell(const Settlement& settlement) {
  std::shared_ptr<OpenTicket>* found = open_.find(settlement.ticket);
  if (found == nullptr) return;
  fetch(settlement.ticket + kTicketsAhead);
  OpenTicket& open = **found;
  const bool accepted = settlement.state == TicketState::accepted;
  const bool started = settlement.state == TicketState::started;
  if (accepted && open.answered_) return;  // the same answer again
  if (!open.answered_) ++answered_;
  open.answered_ = true;
  open.started_ = open.started_ || started;
  // If the dispatcher has dropped its handles, nobody can get one any more. Check before calling the ticket: a thread
  // that drops its handle after the call may have started to wait.
  const bool known = found->use_count() > 1;
  if (!started && (!accepted || open.last_is_acceptance_)) {
    std::shared_ptr<OpenTicket> ticket = std::move(*found);
    open_.erase(settlement.ticket);
    open.ended(std::move(ticket), settlement, known);
  } else if (!open.advanced(*found, settlement, known) && !known) {
    open_.erase(settlement.ticket);
  }
  events_.settled(settlement);
}

// Tickets that were given out together are usually settled together, and are scattered over memory that was not used
// for long. Waiting for each in turn would be most of the cost.
void Tickets::fetch(std::uint64_t number) const {
  const std::shared_ptr<OpenTicket>* ahead = open_.find(number);
  if (ahead != nullptr) fetch_ahead(ahead->get(), kOpenTicketBytes);
}

void Tickets::append_gave_up() {
  std::vector<std::uint64_t> lost;
  open_.each([&](std::uint64_t number, const std::shared_ptr<OpenTicket>& open) {
    if (!open->answered_) lost.push_back(number);
  });
  lose(std::move(lost));
  if (markers_ != marker_passed_) in_doubt();  // the marker may have been given up with the rest
}

void Tickets::in_doubt() {
  if (open_.empty()) return;
  v1::Record record;
  record.mutable_tick();
  appender_.offer_behind_requests(record,
                                  {nullptr, [this, marker = ++markers_](Position at) { markers_ahead_[marker] = at; }});
}

void Tickets::applied(Position applied, const TicketSource& state) {
  // An older marker may be in a log that was replaced since, at a position that this log will not reach for long.
  const std::uint64_t before = marker_passed_;
  for (const auto& [marker, position] : markers_ahead_) {
    if (position <= applied) marker_passed_ = marker;
  }
  if (marker_passed_ != before)
    markers_ahead_.erase(markers_ahead_.begin(), markers_ahead_.upper_bound(marker_passed_));
  if (marker_passed_ != before && !open_.empty()) judge(state);
}

void Tickets::judge(const TicketSource& state) {
  std::unordered_map<std::uint64_t, TicketView> there;
  state.each_ticket([&](const TicketView& view) {
    if (open_.contains(view.ticket)) there.emplace(view.ticket, view);
  });
  std::vector<std::uint64_t> lost;
  open_.each([&](std::uint64_t number, const std::shared_ptr<OpenTicket>& open) {
    if (open->markers_ < marker_passed_ && !there.contains(number)) lost.push_back(number);
  });
  for (const auto& [ticket, view] : there) {
    const bool told = view.state == TicketState::started && (*open_.find(ticket))->started_;
    tell({ticket, TicketState::accepted, Errc{}, view.epoch, view.worker, {}});
    if (view.state == TicketState::accepted || told) continue;
    const Errc code = view.state == TicketState::failed ? Errc::job_failed : Errc{};
    tell({ticket, view.state, code, view.epoch, view.worker, view.error});
  }
  lose(std::move(lost));
}

void Tickets::lose(std::vector<std::uint64_t> lost) {
  const Error error{Errc::lost_history, "wait", "the log has lost it, or its outcome is unknown"};
  std::sort(lost.begin(), lost.end());
  for (const std::uint64_t number : lost) {
    const std::shared_ptr<OpenTicket> ticket = std::move(*open_.find(number));
    open_.erase(number);
    if (!ticket->answered_) ++answered_;
    ticket->given_up(ticket, error);
    events_.ticket_lost(number);
  }
}

void Tickets::give_up_all(const Error& error) {
  const IdMap<std::shared_ptr<OpenTicket>> all = std::exchange(open_, {});
  all.each([&](std::uint64_t, const std::shared_ptr<OpenTicket>& open) {
    if (!open->answered_) ++answered_;
    open->given_up(open, error);
  });
}

}  // namespace tenure

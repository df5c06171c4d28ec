#include "pool/ticket_book.h"

namespace tenure {

void TicketBook::open(std::uint64_t number, TicketPtr ticket) {
  lines_.emplace(number, Line{std::move(ticket), false});
  ++unanswered_;
}

bool TicketBook::settled(const Settlement& settlement) {
  const auto found = lines_.find(settlement.ticket);
  if (found == lines_.end()) return false;
  Line& line = found->second;
  if (!std::exchange(line.answered, true)) --unanswered_;
  const bool going_on = line.ticket->settle(settlement);
  // The dispatcher has thrown its handles away, and nobody can get one any more.
  const bool heard = line.ticket.use_count() > 1 || line.ticket->has_callbacks();
  if (going_on && heard) return true;
  lines_.erase(found);
  return false;
}

void TicketBook::lost(std::uint64_t number, const Error& error) {
  const auto found = lines_.find(number);
  if (found == lines_.end()) return;
  if (!found->second.answered) --unanswered_;
  const TicketPtr ticket = std::move(found->second.ticket);
  lines_.erase(found);
  ticket->give_up(error);
}

void TicketBook::give_up_all(const Error& error) {
  const auto lines = std::exchange(lines_, {});
  unanswered_ = 0;
  for (const auto& [number, line] : lines) line.ticket->give_up(error);
}

}  // namespace tenure

#include <tenure/ticket.hpp>

#include "base/deadline.h"
#include "pool/pending_ticket.h"

namespace tenure {
namespace {

Status wait_for(const PendingTicket& ticket, Stage stage, Ticket::Timeout timeout, const char* what) {
  if (!ticket.wait(stage, after(timeout))) {
    return fail(Errc::timed_out, ticket.operation(), std::string("not ") + what + " yet; it may still happen");
  }
  return ticket.outcome(stage);
}

}  // namespace

Ticket::Ticket(std::shared_ptr<PendingTicket> pending) : pending_(std::move(pending)) {}

Status Ticket::wait_accepted(Timeout timeout) const {
  return wait_for(*pending_, Stage::accepted, timeout, "accepted");
}

Status Ticket::wait_started(Timeout timeout) const { return wait_for(*pending_, Stage::started, timeout, "started"); }

Result<std::string> Ticket::wait_done(Timeout timeout) const {
  if (Status done = wait_for(*pending_, Stage::done, timeout, "done"); !done) return Failure(done.error());
  return pending_->result();
}

void Ticket::on_accepted(std::function<void(Status)> call) const {
  PendingTicket::when(pending_, TicketCallback::on_accepted(std::move(call)));
}

void Ticket::on_started(std::function<void(Status)> call) const {
  PendingTicket::when(pending_, TicketCallback::on_started(std::move(call)));
}

void Ticket::on_done(std::function<void(Result<std::string>)> call) const {
  PendingTicket::when(pending_, TicketCallback::on_done(std::move(call)));
}

std::optional<TicketState> Ticket::state() const { return pending_->view().state; }
std::string Ticket::worker() const { return pending_->view().worker; }
std::uint64_t Ticket::epoch() const { return pending_->view().epoch; }

}  // namespace tenure

#pragma once

// The tickets that a node or a client has given out, and their outcomes.
//
// Most outcomes come from the machine as the log is applied. If a state is loaded from a snapshot, or the log lost what
// had been appended, the outcome of a ticket may never come. Then the node writes a record to mark the log's end. Once
// it is applied, an older ticket is either among the state's jobs, or its outcome is unknown.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/id_map.h"
#include "machine/effects.h"
#include "machine/keys/ticket_source.h"
#include "node/appender.h"
#include "node/request.h"

namespace tenure {

// A ticket that was given out. Waiters derive from it, and are called on the loop. The table keeps its own data here,
// because this memory is used anyway when a ticket is settled.
class OpenTicket {
 public:
  virtual ~OpenTicket() = default;

 protected:
  // `self` is the table's pointer to it. If not `known`, that is the only pointer, so nobody else can query or wait any
  // more. None of these may call back.

  // A step that is not the last. Returns true if it needs further steps, even if not `known`.
  virtual bool advanced(const std::shared_ptr<OpenTicket>& /*self*/, const Settlement& /*step*/, bool /*known*/) {
    return true;
  }
  // The last step.
  virtual void ended(std::shared_ptr<OpenTicket> /*self*/, const Settlement& /*end*/, bool /*known*/) {}
  // There will be no further news.
  virtual void given_up(std::shared_ptr<OpenTicket> /*self*/, const Error& /*error*/) {}

 private:
  friend class Tickets;

  // Owned by the table's loop.
  Instant asked_;
  std::uint64_t markers_ = 0;  // how many markers had been offered before it
  // Single bits, because the first cache line of derived classes is full.
  bool answered_ : 1 = false;
  bool started_ : 1 = false;
  bool last_is_acceptance_ : 1 = false;
  bool met_ : 1 = false;
};

// The maximum size of derived classes. So much is prefetched if many are called one after the other. With the counts of
// its shared pointer, which are in front of it, these are two cache lines.
constexpr std::size_t kOpenTicketBytes = 112;

class TicketEvents {
 public:
  virtual ~TicketEvents() = default;
  // The outcome of a ticket, after the ticket itself was called. The last one is refused, done, failed or stopped.
  virtual void settled(const Settlement& /*settlement*/) {}
  // The log lost it, or its outcome is unknown.
  virtual void ticket_lost(std::uint64_t /*ticket*/) {}
};

// Belongs to the owner's loop.
class Tickets final : public TicketEffects {
 public:
  Tickets(Appender& appender, TicketEvents& events) : appender_(appender), events_(events) {}

  // `single`: acceptance is its only result. Without a ticket only the events report.
  void add(std::uint64_t number, bool single, Instant asked, std::shared_ptr<OpenTicket> ticket);
  // The same for several. Moves their tickets.
  void add(std::vector<SealedRequests::Asked>& requests, Instant asked);
  bool empty() const { return open_.empty(); }
  bool has(std::uint64_t ticket) const { return open_.contains(ticket); }
  // How many of all added tickets were answered or given up.
  std::uint64_t answered() const { return answered_; }
  // When the oldest unanswered ticket was submitted.
  std::optional<Instant> eldest_unanswered() const;

  // A reader without a state has reached the entry of the request: later news about the ticket are valid.
  void meet(std::uint64_t ticket);
  bool met(std::uint64_t ticket) const;

  void settled(const At& /*at*/, const Settlement& settlement) override { tell(settlement); }
  // The same, from a source other than a machine.
  void tell(const Settlement& settlement);
  // A batch was given up. It may or may not be in the log.
  void append_gave_up();
  // The state was replaced, or an acknowledged record is not in the log.
  void in_doubt();
  // To be called after every entry. `state`: what is true after it.
  void applied(Position applied, const TicketSource& state);
  // Nobody will read on. All tickets get the error.
  void give_up_all(const Error& error);

 private:
  void fetch(std::uint64_t number) const;
  void judge(const TicketSource& state);
  void lose(std::vector<std::uint64_t> lost);

  Appender& appender_;
  TicketEvents& events_;
  IdMap<std::shared_ptr<OpenTicket>> open_;
  std::uint64_t answered_ = 0;
  std::uint64_t markers_ = 0;
  std::uint64_t marker_passed_ = 0;
  std::map<std::uint64_t, Position> markers_ahead_;  // acknowledged markers, and their positions
};

}  // namespace tenure

#pragma once

// The tickets that a node or a client has given out, and what became of them.
//
// Most are settled by what the machine says as the log is applied. Where a state is loaded from a snapshot, or the log
// lost what had been appended, what was to be heard of a ticket may never come: then an own record marks the log's
// end, and once that has been applied, a ticket from before it is among the state's jobs, or nobody can say what
// became of it.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/id_map.h"
#include "machine/machine.h"
#include "node/appender.h"
#include "node/request.h"

namespace tenure {

// A ticket that has been given out. Whoever waits for it derives from this, and is told on the loop. What the table
// has to know of each lies here, in the one place that is touched anyway when a ticket is settled.
class OpenTicket {
 public:
  virtual ~OpenTicket() = default;

 protected:
  // `self` is the table's pointer to it. Where it is not `known`, that is the only one, so that nobody else can ask or
  // wait any more. None of these may call back.

  // A step that others may follow. True if it wants to hear more, even where it is not known.
  virtual bool advanced(const std::shared_ptr<OpenTicket>& /*self*/, const Settlement& /*step*/, bool /*known*/) {
    return true;
  }
  // The last one.
  virtual void ended(std::shared_ptr<OpenTicket> /*self*/, const Settlement& /*end*/, bool /*known*/) {}
  // Nothing more will be heard of it.
  virtual void given_up(std::shared_ptr<OpenTicket> /*self*/, const Error& /*error*/) {}

 private:
  friend class Tickets;

  // Owned by the table's loop.
  Instant asked_;
  std::uint64_t markers_ = 0;  // how many had been offered before it
  // In one byte, since the first cache line of what derives from this has none to spare.
  bool answered_ : 1 = false;
  bool started_ : 1 = false;
  bool last_is_acceptance_ : 1 = false;
  bool met_ : 1 = false;
};

// Of what derives from OpenTicket, at most: so much is fetched ahead, where many are told one after the other. With the
// counts of its shared pointers, which lie before it, these are two cache lines.
constexpr std::size_t kOpenTicketBytes = 112;

class TicketEvents {
 public:
  virtual ~TicketEvents() = default;
  // What became of a ticket, after the ticket itself was told. It is heard of no more once it is refused, done, failed
  // or stopped.
  virtual void settled(const Settlement& /*settlement*/) {}
  // The log lost it, or nobody can say.
  virtual void ticket_lost(std::uint64_t /*ticket*/) {}
};

// Belongs to the owner's loop.
class Tickets final : public TicketEffects {
 public:
  Tickets(Appender& appender, TicketEvents& events) : appender_(appender), events_(events) {}

  // `single`: being accepted is all there is to hear of it. With null for the ticket only the events tell.
  void add(std::uint64_t number, bool single, Instant asked, std::shared_ptr<OpenTicket> ticket);
  // The same for several, whose tickets are taken.
  void add(std::vector<SealedRequests::Asked>& requests, Instant asked);
  bool empty() const { return open_.empty(); }
  bool has(std::uint64_t ticket) const { return open_.contains(ticket); }
  // How many of all that were added have been answered, or were given up.
  std::uint64_t answered() const { return answered_; }
  // When the eldest of these was asked.
  std::optional<Instant> eldest_unanswered() const;

  // A reader without a state has come by the entry that asked for it: what it reads of the ticket from there on holds.
  void meet(std::uint64_t ticket);
  bool met(std::uint64_t ticket) const;

  void settled(const At& /*at*/, const Settlement& settlement) override { tell(settlement); }
  // The same, from one who knows without a machine.
  void tell(const Settlement& settlement);
  // A batch was given up: it may or may not be in the log.
  void append_gave_up();
  // The state was replaced, or an acknowledged record is not in the log.
  void in_doubt();
  // To be called after every entry.
  void applied(const Machine& machine);
  // Nobody will read on: the tickets are told why.
  void give_up_all(const Error& error);

 private:
  void fetch(std::uint64_t number) const;
  void judge(const Machine& machine);
  void lose(std::vector<std::uint64_t> lost);

  Appender& appender_;
  TicketEvents& events_;
  IdMap<std::shared_ptr<OpenTicket>> open_;
  std::uint64_t answered_ = 0;
  std::uint64_t markers_ = 0;
  std::uint64_t marker_passed_ = 0;
  std::map<std::uint64_t, Position> markers_ahead_;  // acknowledged, and where they lie
};

}  // namespace tenure

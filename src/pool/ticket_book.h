#pragma once

// The tickets that are open, by the number they have in the log.

#include <cstdint>
#include <unordered_map>

#include "pool/pending_ticket.h"

namespace tenure {

// Belongs to the loop of the node or client.
class TicketBook {
 public:
  void open(std::uint64_t number, TicketPtr ticket);
  // False where nobody waits for more: the number may be forgotten.
  bool settled(const Settlement& settlement);
  void lost(std::uint64_t number, const Error& error);
  void give_up_all(const Error& error);
  // Tickets of which nothing has been heard yet.
  std::size_t unanswered() const { return unanswered_; }

 private:
  struct Line {
    TicketPtr ticket;
    bool answered = false;
  };

  std::unordered_map<std::uint64_t, Line> lines_;
  std::size_t unanswered_ = 0;
};

}  // namespace tenure

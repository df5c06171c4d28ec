// The table of tickets, and what it reports to the tickets.

#include "node/tickets.h"

#include <gtest/gtest.h>

#include "node/manual_world.h"

namespace tenure {
namespace {

// Records its events.
class Listener final : public OpenTicket {
 public:
  std::string heard;
  bool wants_more = false;
  std::function<void()> meanwhile = [] {};  // during a step

 private:
  bool advanced(const std::shared_ptr<OpenTicket>& /*self*/, const Settlement& step, bool known) override {
    heard += std::string(to_string(step.state)) + (known ? " known, " : " alone, ");
    meanwhile();
    return wants_more;
  }
  void ended(std::shared_ptr<OpenTicket> self, const Settlement& end, bool known) override {
    EXPECT_EQ(self.get(), this);
    heard += std::string(to_string(end.state)) + (known ? " known" : " alone");
  }
};

class TicketsTest : public testing::Test, private AppenderEvents, private TicketEvents {
 protected:
  void tell(TicketState state) { tickets_.tell({kNumber, state, Errc{}, 0, {}, {}}); }

  static constexpr std::uint64_t kNumber = 7;
  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_{1};
  Appender appender_{log_, loop_, loop_, entropy_, *this};
  Tickets tickets_{appender_, *this};

 private:
  void append_gave_up() override {}
  void append_refused(const Error&) override {}
  void ticket_lost(std::uint64_t ticket) override { lost_ = ticket; }

 protected:
  std::uint64_t lost_ = 0;
};

// A ticket that somebody has hears of each step, and that somebody has it.
TEST_F(TicketsTest, TellsEveryStep) {
  const auto ticket = std::make_shared<Listener>();
  tickets_.add(kNumber, false, {}, ticket);
  for (const TicketState state : {TicketState::accepted, TicketState::started, TicketState::done}) tell(state);
  EXPECT_EQ(ticket->heard, "accepted known, started known, done known");
  EXPECT_EQ(ticket.use_count(), 1);
  EXPECT_TRUE(tickets_.empty());
}

// Where acceptance is all there is to hear, it is the end.
TEST_F(TicketsTest, AcceptanceMayBeTheEnd) {
  const auto ticket = std::make_shared<Listener>();
  tickets_.add(kNumber, true, {}, ticket);
  tell(TicketState::accepted);
  EXPECT_EQ(ticket->heard, "accepted known");
  EXPECT_TRUE(tickets_.empty());
}

// A ticket without handles learns that, and is kept as long as it wants further steps.
TEST_F(TicketsTest, KeepsWhatWantsToHear) {
  auto ticket = std::make_shared<Listener>();
  Listener& listener = *ticket;
  listener.wants_more = true;
  tickets_.add(kNumber, false, {}, std::move(ticket));
  tell(TicketState::accepted);
  EXPECT_EQ(listener.heard, "accepted alone, ");
  EXPECT_TRUE(tickets_.has(kNumber));
  listener.wants_more = false;
  tell(TicketState::started);
  EXPECT_FALSE(tickets_.has(kNumber));
}

// A user may add a callback to a ticket and drop it, after the ticket was accepted and before the table checks for
// handles. The callback is not lost.
TEST_F(TicketsTest, ThrownAwayWhileItIsTold) {
  auto ticket = std::make_shared<Listener>();
  Listener& listener = *ticket;
  tickets_.add(kNumber, false, {}, ticket);
  listener.meanwhile = [&] { ticket.reset(); };
  tell(TicketState::accepted);
  EXPECT_TRUE(tickets_.has(kNumber));
}

// The state is loaded, and then the log is replaced by a new one whose positions start again. The marker for the end of
// the old log must not be waited for.
TEST_F(TicketsTest, AMarkerInALogThatWasReplacedHoldsNothingUp) {
  tickets_.add(kNumber, false, {}, std::make_shared<Listener>());
  for (const Position end : {Position{100}, Position{5}}) {
    tickets_.in_doubt();
    loop_.settle();
    log_.answer(end);
    loop_.settle();
  }
  struct : TicketSource {
    void each_ticket(const std::function<void(const TicketView&)>& /*visit*/) const override {}
  } const none;
  tickets_.applied(4, none);
  EXPECT_EQ(lost_, 0U);
  tickets_.applied(6, none);
  EXPECT_EQ(lost_, kNumber);
}

}  // namespace
}  // namespace tenure

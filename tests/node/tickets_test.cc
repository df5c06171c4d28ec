// The table of tickets, and what the tickets are told by it.

#include "node/tickets.h"

#include <gtest/gtest.h>

#include "node/manual_world.h"

namespace tenure {
namespace {

class Listener final : public OpenTicket {
 public:
  std::function<void()> meanwhile = [] {};  // while it is told

 private:
  bool settled(const Settlement& /*settlement*/) override {
    meanwhile();
    return false;
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
};

// Somebody may give a ticket a callback and throw it away, both after it was told that it is accepted and before the
// table looks who has it: the callback is not lost.
TEST_F(TicketsTest, ThrownAwayWhileItIsTold) {
  auto ticket = std::make_shared<Listener>();
  Listener& listener = *ticket;
  tickets_.add(kNumber, false, {}, ticket);
  listener.meanwhile = [&] { ticket.reset(); };
  tell(TicketState::accepted);
  EXPECT_TRUE(tickets_.has(kNumber));
}

}  // namespace
}  // namespace tenure

// A ticket as the node's table updates it, and as its handles see it.

#include "pool/pending_ticket.h"

#include <gtest/gtest.h>

#include <future>
#include <tenure/ticket.hpp>

#include "node/manual_world.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kPatience{30};  // only a test that fails waits for it

class PendingTicketTest : public testing::Test, private AppenderEvents, private TicketEvents {
 protected:
  PendingTicketTest() {
    callbacks_->post([this] { gate_.get_future().wait(); });
  }
  ~PendingTicketTest() override { run_callbacks(); }

  // A ticket that was sent; the table has it, too.
  Ticket dispatch(std::uint64_t number) {
    auto ticket = std::make_shared<PendingTicket>("dispatch", callbacks_);
    tickets_.add(number, false, {}, ticket);
    return Ticket(std::move(ticket));
  }
  void tell(std::uint64_t number, TicketState state, BytesView text = {}) {
    const Errc code = state == TicketState::refused ? Errc::key_exists : Errc{};
    tickets_.tell({number, state, code, 5, "w1", text});
  }
  auto write(const std::string& word) {
    return [this, word](const auto& outcome) {
      said_.push_back(word + (outcome ? "" : ": " + std::string(to_string(outcome.error().code))));
    };
  }
  auto write_result() {
    return [this](const Result<std::string>& result) { said_.push_back(result ? *result : result.error().message()); };
  }
  // No callback runs before this, and all that are due have run after it.
  void run_callbacks() {
    if (!std::exchange(open_, true)) gate_.set_value();
    callbacks_->close();
  }

  using Words = std::vector<std::string>;
  Words said_;  // by callbacks
  std::promise<void> gate_;
  bool open_ = false;
  const std::shared_ptr<Callbacks> callbacks_ = std::make_shared<Callbacks>();
  ManualLoop loop_;
  ManualLog log_;
  SeededEntropy entropy_{1};
  Appender appender_{log_, loop_, loop_, entropy_, *this};
  Tickets tickets_{appender_, *this};

 private:
  void append_gave_up() override {}
  void append_refused(const Error&) override {}
};

// A handle can query everything that was reported.
TEST_F(PendingTicketTest, HandleIsToldEverything) {
  const Ticket ticket = dispatch(1);
  EXPECT_EQ(ticket.state(), std::nullopt);
  tell(1, TicketState::accepted);
  EXPECT_EQ(ticket.state(), TicketState::accepted);
  EXPECT_EQ(ticket.worker(), "w1");
  EXPECT_EQ(ticket.epoch(), 5U);
  tell(1, TicketState::done, "text");
  EXPECT_EQ(ticket.wait_done(0s).value(), "text");
  EXPECT_TRUE(ticket.wait_started(0s));
}

// A handle may be thrown away as soon as it was given a callback, which then gets the result.
TEST_F(PendingTicketTest, ThrownAwayHandleCallsBack) {
  dispatch(1).on_done(write_result());
  dispatch(2).on_done(write_result());
  dispatch(3).on_done(write_result());
  for (const std::uint64_t number : {1U, 2U, 3U}) tell(number, TicketState::accepted);
  tell(2, TicketState::failed, "why");
  tell(1, TicketState::started);
  tell(1, TicketState::done, "text");
  tell(3, TicketState::stopped);
  EXPECT_TRUE(tickets_.empty());
  run_callbacks();
  EXPECT_EQ(said_, (Words{"dispatch: job_failed (why)", "text", ""}));
}

// One that is thrown away later, too.
TEST_F(PendingTicketTest, HandleIsThrownAwayOnTheWay) {
  std::optional<Ticket> ticket = dispatch(1);
  tell(1, TicketState::accepted);
  ticket->on_started(write("started"));
  ticket->on_done(write_result());
  ticket.reset();
  tell(1, TicketState::started);
  tell(1, TicketState::done, "text");
  run_callbacks();
  EXPECT_EQ(said_, (Words{"started", "text"}));
}

// Without a handle and without a callback there is nobody to be told.
TEST_F(PendingTicketTest, NobodyWaits) {
  (void)dispatch(1);
  tell(1, TicketState::accepted);
  EXPECT_TRUE(tickets_.empty());
}

// Each callback runs when its stage is reached; those of a stage in the order in which they were given.
TEST_F(PendingTicketTest, SeveralCallbacks) {
  const Ticket ticket = dispatch(1);
  ticket.on_done(write("done 1"));
  ticket.on_accepted(write("accepted 1"));
  ticket.on_started(write("started"));
  ticket.on_accepted(write("accepted 2"));
  ticket.on_done(write("done 2"));
  for (const TicketState state : {TicketState::accepted, TicketState::started, TicketState::done}) tell(1, state);
  run_callbacks();
  EXPECT_EQ(said_, (Words{"accepted 1", "accepted 2", "started", "done 1", "done 2"}));
}

// At an end that comes early all are due, in the order in which they were given.
TEST_F(PendingTicketTest, EndMakesAllDue) {
  const Ticket ticket = dispatch(1);
  ticket.on_done(write("done"));
  ticket.on_started(write("started"));
  ticket.on_accepted(write("accepted"));
  tell(1, TicketState::refused, "why");
  run_callbacks();
  EXPECT_EQ(said_, (Words{"done: key_exists", "started: key_exists", "accepted: key_exists"}));
}

// Callbacks of several tickets run in the order in which they became due, even if more is due by the time they run.
TEST_F(PendingTicketTest, OrderAcrossTickets) {
  const Ticket first = dispatch(1);
  const Ticket second = dispatch(2);
  const Ticket third = dispatch(3);
  first.on_accepted(write("1 accepted"));
  first.on_done(write("1 done"));
  second.on_accepted(write("2 accepted"));
  third.on_started(write("3 started"));
  tell(1, TicketState::accepted);
  tell(2, TicketState::accepted);
  first.on_accepted(write("1 accepted, late"));
  tell(1, TicketState::done);
  first.on_done(write("1 done, late"));
  tickets_.give_up_all({Errc::closed, "wait", "the pool was closed"});
  second.on_done(write("2 done, late"));
  run_callbacks();
  EXPECT_EQ(said_, (Words{"1 accepted", "2 accepted", "1 accepted, late", "1 done", "1 done, late", "3 started: closed",
                          "2 done, late: closed"}));
}

// A callback may give its own ticket another one, for a stage that is due or for one that is not.
TEST_F(PendingTicketTest, CallbackGivesAnother) {
  const Ticket ticket = dispatch(1);
  std::promise<void> given;
  ticket.on_accepted([&](const Status&) {
    ticket.on_accepted(write("accepted"));
    ticket.on_done(write_result());
    given.set_value();
  });
  tell(1, TicketState::accepted);
  open_ = true;
  gate_.set_value();
  callbacks_->wake();
  given.get_future().wait();
  tell(1, TicketState::done, "text");
  run_callbacks();
  EXPECT_EQ(said_, (Words{"accepted", "text"}));
}

// What a callback captured is released before the next one of its ticket runs, and the ticket after the last one.
TEST_F(PendingTicketTest, ReleasesWhatWasCaptured) {
  std::weak_ptr<PendingTicket> watched_ticket;
  std::vector<std::weak_ptr<int>> watched;
  const auto capture = [&] {
    auto captured = std::make_shared<int>(1);
    watched.push_back(captured);
    return [&said = said_, captured = std::move(captured), before = watched](const auto&) {
      for (std::size_t i = 0; i + 1 < before.size(); ++i) said.emplace_back(before[i].expired() ? "released" : "kept");
    };
  };
  {
    auto pending = std::make_shared<PendingTicket>("dispatch", callbacks_);
    watched_ticket = pending;
    tickets_.add(1, false, {}, pending);
    const Ticket ticket(std::move(pending));
    ticket.on_done(capture());
    ticket.on_done(capture());
    tell(1, TicketState::done);
    ticket.on_done(capture());
  }
  run_callbacks();
  EXPECT_EQ(said_, (Words{"released", "released", "released"}));
  EXPECT_TRUE(watched.back().expired());
  EXPECT_TRUE(watched_ticket.expired());
}

// Once the callbacks' thread has ended, they run where they become due, or are given.
TEST_F(PendingTicketTest, AfterTheEnd) {
  const Ticket done = dispatch(1);
  const Ticket open = dispatch(2);
  done.on_accepted(write("accepted"));
  done.on_done(write("done"));
  open.on_done(write("open"));
  run_callbacks();
  tell(1, TicketState::accepted);
  tell(1, TicketState::done);
  EXPECT_EQ(said_, (Words{"accepted", "done"}));
  tickets_.give_up_all({Errc::closed, "wait", "the pool was closed"});
  open.on_done(write("late"));
  EXPECT_EQ(said_, (Words{"accepted", "done", "open: closed", "late: closed"}));
}

// A waiter is woken at once, whatever the callbacks' thread does.
TEST_F(PendingTicketTest, WakesWhoWaits) {
  const Ticket ticket = dispatch(1);
  auto accepted = std::async(std::launch::async, [&] { return ticket.wait_accepted(kPatience).has_value(); });
  tell(1, TicketState::accepted);
  EXPECT_TRUE(accepted.get());
  auto done = std::async(std::launch::async, [&] { return ticket.wait_done(kPatience).value(); });
  tell(1, TicketState::done, "text");
  EXPECT_EQ(done.get(), "text");
}

// While the loop tells tickets, others give them callbacks and throw them away: each is called once.
TEST_F(PendingTicketTest, ManyThreads) {
  constexpr std::uint64_t kTickets = 2000;
  std::vector<Ticket> handles;
  handles.reserve(kTickets);
  for (std::uint64_t number = 1; number <= kTickets; ++number) handles.push_back(dispatch(number));
  open_ = true;
  gate_.set_value();
  std::atomic<int> called = 0;
  std::thread dispatcher([&] {
    for (Ticket& handle : handles) {
      const Ticket ticket = std::exchange(handle, Ticket(nullptr));
      ticket.on_done([&](const Result<std::string>& result) { called += result.value() == "text" ? 1 : 0; });
    }
  });
  for (std::uint64_t number = 1; number <= kTickets; ++number) tell(number, TicketState::accepted);
  for (std::uint64_t number = 1; number <= kTickets; ++number) tell(number, TicketState::started);
  for (std::uint64_t number = 1; number <= kTickets; ++number) tell(number, TicketState::done, "text");
  dispatcher.join();
  run_callbacks();
  EXPECT_EQ(called, kTickets);
  EXPECT_TRUE(tickets_.empty());
}

}  // namespace
}  // namespace tenure

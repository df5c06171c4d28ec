#pragma once

// What is known of a request that is under way, and who waits to hear of it. It is shared by the dispatcher's handles
// and by the node's or client's table of tickets, whichever lives longer.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "node/tickets.h"
#include "pool/callbacks.h"
#include "pool/ticket_calls.h"

namespace tenure {

// Thread-safe. Always owned by shared pointers. Hundreds of thousands may be open at a time: what few of them need, or
// nobody can ask for any more, takes no room.
class PendingTicket final : public OpenTicket {
 public:
  struct View {
    std::uint64_t number = 0;  // in the log; zero while it has not answered
    std::optional<TicketState> state;
    std::optional<Error> error;  // once it is sure that it will not be done
    bool started = false;
    std::uint64_t epoch = 0;
    std::string worker;
    std::string text;  // the result
  };

  // `operation` is what errors name.
  PendingTicket(const char* operation, std::shared_ptr<Callbacks> callbacks);

  // True once the stage has been reached, or will not be any more; false after the deadline.
  bool wait(Stage stage, std::chrono::steady_clock::time_point deadline) const;
  // Has it run once, as a callback, when wait() would end. The ticket lives until it has.
  static void when(const std::shared_ptr<PendingTicket>& ticket, TicketCallback call);
  View view() const;
  // What a wait for the stage has to say, once it has ended.
  Status outcome(Stage stage) const;
  // The same of the last stage, with the result.
  Result<std::string> result() const;
  const char* operation() const { return operation_; }

  // By the loop. Callbacks are put to those that wait for Callbacks::wake().
  bool advanced(const std::shared_ptr<OpenTicket>& self, const Settlement& step, bool known) override;
  void ended(std::shared_ptr<OpenTicket> self, const Settlement& end, bool known) override;
  // By the loop. Callbacks are woken.
  void given_up(std::shared_ptr<OpenTicket> self, const Error& error) override;

 private:
  // What can be asked for by those who have the ticket, and how it ended, if that takes words.
  struct Heard {
    std::uint64_t number = 0;
    std::uint64_t epoch = 0;
    std::string worker;
    std::string text;
    std::unique_ptr<Error> error;
  };
  static constexpr std::uint8_t kDone = static_cast<std::uint8_t>(Stage::done);
  static constexpr std::uint8_t kNothing = kDone + 1;

  bool reached(Stage stage) const;
  void await(std::optional<Stage> stage);
  void note(const Settlement& settlement);
  void note_end(const Settlement& end);
  void note_error(Errc code, BytesView text);
  Heard& heard();
  Status outcome_of(Stage stage) const;
  Result<std::string> final_result() const;
  template <class Learn>
  bool finish(std::shared_ptr<OpenTicket> self, const Learn& learn);
  static Callbacks::Call due(std::shared_ptr<OpenTicket> self, Stage stage);
  template <Stage ForStage>
  static void run_due_of(void* self);
  void run_due(Stage stage);
  void run(const TicketCallback& call) const;

  // All but the constants is guarded by the ticket's guard (pending_ticket.cc). What each step of a job touches lies
  // first, in one cache line with what the table does; the callbacks lie in the next.
  bool final_ = false;
  bool started_ = false;
  std::optional<TicketState> state_;
  // The earliest stage that a callback waits for and that has not been reached. Written under the guard, and read
  // without it where nobody else has the ticket.
  std::atomic<std::uint8_t> awaited_ = kNothing;
  std::unique_ptr<Heard> heard_;  // null: nothing of it
  const char* const operation_;
  TicketCalls calls_;  // those that are due wait for the callbacks' thread
  const std::shared_ptr<Callbacks> callbacks_;
};

// What a flood of tickets costs is mostly the memory that they are fetched from and written to. See kOpenTicketBytes.
static_assert(sizeof(PendingTicket) <= kOpenTicketBytes);

using TicketPtr = std::shared_ptr<PendingTicket>;

}  // namespace tenure

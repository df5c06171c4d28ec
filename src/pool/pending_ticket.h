#pragma once

// The state of a request in flight, and its waiters. Shared by the dispatcher's handles and by the node's or client's
// table of tickets, whichever lives longer.

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

// Thread-safe. Always owned by shared pointers. Hundreds of thousands may be open at a time, so data that few of them
// need, or that nobody can query any more, takes no space.
class PendingTicket final : public OpenTicket {
 public:
  struct View {
    std::uint64_t number = 0;  // in the log; zero before its answer
    std::optional<TicketState> state;
    std::optional<Error> error;  // set once it is certain that it will not be done
    bool started = false;
    std::uint64_t epoch = 0;
    std::string worker;
    std::string text;  // the result
  };

  // `operation` is its name in errors.
  PendingTicket(const char* operation, std::shared_ptr<Callbacks> callbacks);

  // True once the stage was reached or can no longer be reached. False after the deadline.
  bool wait(Stage stage, std::chrono::steady_clock::time_point deadline) const;
  // Runs `call` once, as a callback, when wait() would end. Keeps the ticket alive until then.
  static void when(const std::shared_ptr<PendingTicket>& ticket, TicketCallback call);
  View view() const;
  // The result of a wait for the stage, after it has ended.
  Status outcome(Stage stage) const;
  // The same for the last stage, with the result.
  Result<std::string> result() const;
  const char* operation() const { return operation_; }

  // On the loop. Callbacks are queued without waking their thread; see Callbacks::wake().
  bool advanced(const std::shared_ptr<OpenTicket>& self, const Settlement& step, bool known) override;
  void ended(std::shared_ptr<OpenTicket> self, const Settlement& end, bool known) override;
  // On the loop. Wakes the callbacks' thread.
  void given_up(std::shared_ptr<OpenTicket> self, const Error& error) override;

 private:
  // The data that holders of the ticket can query, and its result or error.
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

  // Everything but the constants is guarded by the ticket's guard (pending_ticket.cc). Data that every step uses comes
  // first, in one cache line with the table's data. The callbacks are in the next.
  bool final_ = false;
  bool started_ = false;
  std::optional<TicketState> state_;
  // The earliest stage that has not been reached and that a callback waits for. Written with the guard held, and read
  // without it if nobody else has the ticket.
  std::atomic<std::uint8_t> awaited_ = kNothing;
  std::unique_ptr<Heard> heard_;  // null: no data
  const char* const operation_;
  TicketCalls calls_;  // due ones wait for the callbacks' thread
  const std::shared_ptr<Callbacks> callbacks_;
};

// The cost of a flood of tickets is mostly reading and writing their memory. See kOpenTicketBytes.
static_assert(sizeof(PendingTicket) <= kOpenTicketBytes);

using TicketPtr = std::shared_ptr<PendingTicket>;

}  // namespace tenure

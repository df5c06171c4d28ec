#pragma once

// What is known of a request that is under way, and who waits to hear of it. It is shared by the dispatcher's handles
// and by the node's or client's table of tickets, whichever lives longer.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/tickets.h"
#include "pool/callbacks.h"

namespace tenure {

// What one can wait for.
enum class Stage : std::uint8_t { accepted, started, done };

// Thread-safe. Always owned by shared pointers.
class PendingTicket final : public OpenTicket, public std::enable_shared_from_this<PendingTicket> {
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

  // `operation` is what errors name. `single`: acceptance is the last step.
  PendingTicket(const char* operation, bool single, std::shared_ptr<Callbacks> callbacks);

  // True once the stage has been reached, or will not be any more; false after the deadline.
  bool wait(Stage stage, std::chrono::steady_clock::time_point deadline) const;
  // Has `call` run once, as a callback, when wait() would end. The ticket lives until it has.
  void when(Stage stage, std::function<void()> call);
  View view() const;
  // What a wait for the stage has to say, once it has ended.
  Status outcome(Stage stage) const;
  // The same of the last stage, with the result.
  Result<std::string> result() const;
  const char* operation() const { return operation_; }

  // By the loop. Callbacks are put to those that wait for Callbacks::wake().
  bool settled(const Settlement& settlement) override;
  void given_up(const Error& error) override;

 private:
  struct Waiting {
    Stage stage;
    std::function<void()> call;
  };

  bool reached(Stage stage) const;
  void learn(const Settlement& settlement);
  Status outcome_of(Stage stage) const;
  std::vector<Waiting> take_ready();

  const char* operation_;
  const bool single_;
  const std::shared_ptr<Callbacks> callbacks_;
  // All below is guarded by the ticket's guard (pending_ticket.cc).
  bool final_ = false;
  bool started_ = false;
  std::optional<TicketState> state_;
  std::uint64_t number_ = 0;
  std::uint64_t epoch_ = 0;
  std::vector<Waiting> waiting_;
  std::string worker_;
  std::string text_;
  std::unique_ptr<Error> error_;  // few have one
};

using TicketPtr = std::shared_ptr<PendingTicket>;

}  // namespace tenure

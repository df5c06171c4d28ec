#pragma once

// What is known of a request that is under way, and who waits to hear of it. It is shared by the dispatcher's handles
// and by the book, whichever lives longer.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "machine/effects.h"
#include "pool/callbacks.h"

namespace tenure {

// What one can wait for.
enum class Stage : std::uint8_t { accepted, started, done };

// Thread-safe.
class PendingTicket {
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
  // Has `call` run once, as a callback, when wait() would end.
  void when(Stage stage, std::function<void()> call);
  View view() const;
  // What a wait for the stage has to say, once it has ended.
  Status outcome(Stage stage) const;
  const char* operation() const { return operation_; }

  // By the book. False after the last step.
  bool settle(const Settlement& settlement);
  bool has_callbacks() const;
  void give_up(Error error);

 private:
  struct Waiting {
    Stage stage;
    std::function<void()> call;
  };

  bool reached(Stage stage) const;
  std::vector<Waiting> take_ready();

  const char* operation_;
  const bool single_;
  const std::shared_ptr<Callbacks> callbacks_;
  bool final_ = false;  // this and all below: guarded by the ticket's guard (pending_ticket.cc)
  View view_;
  std::vector<Waiting> waiting_;
};

using TicketPtr = std::shared_ptr<PendingTicket>;

}  // namespace tenure

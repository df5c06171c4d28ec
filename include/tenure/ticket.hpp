#pragma once

// What a dispatcher holds in order to learn what became of its request. A ticket is a handle: it may be copied, and
// thrown away by those who do not care.
//
//     accepted ─▶ started ─▶ done | failed | stopped
//     refused
//
// Each step can be waited for, with a timeout, or be given a callback. A step that will not come any more, because
// the request was refused or the job ended otherwise, answers with the error. A timeout says nothing about the job:
// what was sent may still happen, and one can wait again.
//
// Of a notify() and of what is asked about dead letters there is nothing to hear after acceptance: it is the last
// step, and the other waits answer with it.
//
// Thread-safe. Callbacks run one after the other on a thread of the pool's that does nothing else, with no lock
// held; one that blocks holds up the others. Each runs exactly once: with Errc::closed at the latest when the pool
// is closed. A ticket may outlive its pool.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tenure/kinds.hpp>
#include <tenure/result.hpp>

namespace tenure {

class PendingTicket;

class Ticket {
 public:
  using Timeout = std::chrono::nanoseconds;

  explicit Ticket(std::shared_ptr<PendingTicket> pending);

  Status wait_accepted(Timeout timeout) const;
  Status wait_started(Timeout timeout) const;
  // A task's result. A resident is done when it was stopped, and then the text is empty, or ended by itself.
  Result<std::string> wait_done(Timeout timeout) const;

  void on_accepted(std::function<void(Status)> call) const;
  void on_started(std::function<void(Status)> call) const;
  void on_done(std::function<void(Result<std::string>)> call) const;

  // Where it stands now; nothing while the log has not answered.
  std::optional<TicketState> state() const;
  // Who holds the job, and under which epoch, as far as this ticket has heard; empty and zero before it has.
  std::string worker() const;
  std::uint64_t epoch() const;

 private:
  std::shared_ptr<PendingTicket> pending_;
};

}  // namespace tenure

#pragma once

// A ticket reports the progress of a request to its dispatcher. It is a handle: copy it, or drop it if you do not
// need the result.
//
//     accepted ─▶ started ─▶ done | failed | stopped
//     refused
//
//     tenure::Ticket ticket = pool.dispatch_task("tenant-1", "hello").value();
//     ticket.on_done([](tenure::Result<std::string> result) { … });  // or wait for it: ticket.wait_done(5s)
//
// You can wait for each step with a timeout, or register a callback. If a step can no longer happen, because the
// request was refused or the job has ended another way, the wait or the callback gets the error. A timeout does not
// cancel the request: it may still take effect, and you can wait again.
//
// For retry_dead() and drop_dead() acceptance is the last step, and all waits return with it. A notify() is done when
// the handler has handled the message. It fails if the handler takes no messages or throws, or if the job ends first.
//
// Thread-safe. The pool runs callbacks one at a time on a dedicated thread, with no lock held; a callback that blocks
// delays the others. What a callback throws is written to PoolOptions::logger. Each
// callback runs exactly once, at the latest with Errc::closed when the pool closes. A ticket may outlive its pool.

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
  // Returns the result of the job. A resident is done when it was stopped (with an empty result) or finished by itself.
  Result<std::string> wait_done(Timeout timeout) const;

  void on_accepted(std::function<void(Status)> call) const;
  void on_started(std::function<void(Status)> call) const;
  void on_done(std::function<void(Result<std::string>)> call) const;

  // The present state. Empty until the log has answered.
  std::optional<TicketState> state() const;
  // The job's holder and epoch, as far as the ticket knows them; empty and zero before that.
  std::string worker() const;
  std::uint64_t epoch() const;

 private:
  std::shared_ptr<PendingTicket> pending_;
};

}  // namespace tenure

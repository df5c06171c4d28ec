#pragma once

// Takes requests from any thread, and sends them from the loop in their order. It has the one bounded queue between a
// user's threads and the appender, and counts what has not been answered.
//
//     submit() ─▶ outbox ─▶ node or client ─▶ appender
//     Errc::busy beyond kSubmittedBytesMax   stops while the appender is full; has_room() goes on

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/loop.h"
#include "node/request.h"
#include "pool/callbacks.h"
#include "pool/request_outbox.h"

namespace tenure {

// Bytes of requests that may wait in this process for their turn: beyond it submit() says Errc::busy.
constexpr std::size_t kSubmittedBytesMax = 64U << 20;

// Thread-safe, where nothing else is said.
class RequestSender {
 public:
  // Where requests go. Called on the loop.
  struct Way {
    std::function<bool()> has_room;               // false: has_room() is to be called once there is
    std::function<Status(SealedRequests&)> send;  // takes all of them, or none and says why
  };

  // `first`: the number of the first ticket. `answer_in_log`: the one who asks keeps no state.
  RequestSender(Loop& loop, std::shared_ptr<Callbacks> callbacks, std::uint64_t first, bool answer_in_log);

  // Before the first submit().
  void set_way(Way way) { way_ = std::move(way); }
  // Refused at once: what is malformed (Errc::invalid), too much at a time (Errc::busy), and after close().
  Result<TicketPtr> submit(const Request& request);
  // Submitted, and nothing heard of it yet.
  std::uint64_t unanswered() const;

  // On the loop. The way was full, and is not any more.
  void has_room() { send_submitted(); }
  // On the loop: so many of the tickets that were sent have been answered so far. True if nothing is unanswered.
  bool note_answered(std::uint64_t sent_and_answered);
  // On the loop: nothing is taken any more, and whatever still waits is told why.
  void close(const Error& error);

 private:
  std::uint64_t next_number();
  void send_submitted();
  void give_up(SealedRequests& requests, const Error& error);

  Loop& loop_;
  const std::shared_ptr<Callbacks> callbacks_;
  const bool answer_in_log_;
  Way way_;
  std::atomic<std::uint64_t> numbers_;      // the next ticket's
  std::atomic<std::uint64_t> answered_{0};  // of all that were submitted; written by the loop

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  RequestOutbox outbox_;
  std::uint64_t submitted_ = 0;  // requests, ever
  bool sending_ = false;         // the loop will look at the outbox, now or when there is room
  std::optional<Error> closed_;

  std::uint64_t given_up_ = 0;  // owned by the loop: requests that were never sent
};

}  // namespace tenure

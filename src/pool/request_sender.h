#pragma once

// Accepts requests from any thread, and sends them from the loop in order. It has the only bounded queue between a
// user's threads and the appender, and counts the unanswered requests.
//
//     submit() ─▶ outbox ─▶ node or client ─▶ appender
//     Errc::busy beyond kSubmittedBytesMax   stops while the appender is full; has_room() continues

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/loop.h"
#include "machine/rules.h"
#include "node/request.h"
#include "pool/callbacks.h"
#include "pool/request_outbox.h"

namespace tenure {

// Bytes of requests that may wait in this process. Beyond it submit() fails with Errc::busy.
constexpr std::size_t kSubmittedBytesMax = 64U << 20;

// Thread-safe, unless a comment says otherwise.
class RequestSender {
 public:
  // The destination of requests. Called on the loop.
  struct Way {
    std::function<bool()> has_room;               // false: call has_room() of the sender once there is
    std::function<Status(SealedRequests&)> send;  // takes all of them, or none and returns why
  };

  // `first`: the number of the first ticket. `answer_in_log`: the dispatcher keeps no state.
  RequestSender(Loop& loop, std::shared_ptr<Callbacks> callbacks, std::uint64_t first, bool answer_in_log);

  // Call it before the first submit().
  void set_way(Way way) { way_ = std::move(way); }
  // Fails at once with Errc::invalid for a malformed request, with Errc::busy for too many at a time, with
  // Errc::version for one about sources while members do not know them, and after close().
  Result<TicketPtr> submit(const Request& request);
  // Submitted requests without any answer.
  std::uint64_t unanswered() const;

  // On the loop: the machine version of the pool. Until it is known, as for a client, it is taken to be the newest.
  void note_version(std::uint32_t version) { version_.store(version, std::memory_order_relaxed); }
  // On the loop. There was no room, and now there is.
  void has_room() { send_submitted(); }
  // On the loop: this many of the sent tickets were answered so far. True if nothing is unanswered.
  bool note_answered(std::uint64_t sent_and_answered);
  // On the loop: accepts nothing any more, and fails everything that waits.
  void close(const Error& error);

 private:
  std::uint64_t next_number();
  void send_submitted();
  void give_up(SealedRequests& requests, const Error& error);

  Loop& loop_;
  const std::shared_ptr<Callbacks> callbacks_;
  const bool answer_in_log_;
  Way way_;
  std::atomic<std::uint64_t> numbers_;      // of the next ticket
  std::atomic<std::uint64_t> answered_{0};  // of all submitted ones; written by the loop

  std::atomic<std::uint32_t> version_{kMachineVersion};

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  RequestOutbox outbox_;
  std::uint64_t submitted_ = 0;  // requests since the start
  bool sending_ = false;         // the loop will handle the outbox, now or when there is room
  std::optional<Error> closed_;

  std::uint64_t given_up_ = 0;  // owned by the loop: requests that were never sent
};

}  // namespace tenure

#include "pool/request_sender.h"

#include <utility>

namespace tenure {

RequestSender::RequestSender(Loop& loop, std::shared_ptr<Callbacks> callbacks, std::uint64_t first, bool answer_in_log)
    : loop_(loop), callbacks_(std::move(callbacks)), answer_in_log_(answer_in_log), numbers_(first) {}

Result<TicketPtr> RequestSender::submit(const Request& request) {
  if (Status sound = request.check(); !sound) return Failure(sound.error());
  if (version_.load(std::memory_order_relaxed) < request.version()) {
    return fail(Errc::version, request.operation(), "members of an older version are in the pool, and know no sources");
  }
  auto ticket = std::make_shared<PendingTicket>(request.operation(), callbacks_);
  const std::uint64_t number = next_number();
  static thread_local Bytes record;  // reused memory
  record.clear();
  request.encode(number, answer_in_log_, record);
  bool alone = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return fail(closed_->code, request.operation(), closed_->context);
    if (outbox_.cost() > kSubmittedBytesMax) {
      return fail(Errc::busy, request.operation(), "too much is waiting to be sent; try again shortly");
    }
    alone = ++submitted_ == answered_.load(std::memory_order_relaxed) + 1;
    outbox_.push({number, request.single(), record}, ticket);
    if (std::exchange(sending_, true)) return ticket;
  }
  // A single request is sent by this thread if the loop is idle. If there are more, the loop sends them together.
  if (alone) {
    loop_.run_or_post([this] { send_submitted(); });
  } else {
    loop_.post([this] { send_submitted(); });
  }
  return ticket;
}

// Counts from a random start. Two processes then repeat a number even less often than with random numbers, and tickets
// that are given out together are close together in the table.
std::uint64_t RequestSender::next_number() {
  const std::uint64_t number = numbers_.fetch_add(1, std::memory_order_relaxed);
  return number != 0 ? number : next_number();
}

std::uint64_t RequestSender::unanswered() const {
  std::lock_guard lock(mutex_);
  return submitted_ - answered_.load(std::memory_order_relaxed);
}

// One turn of the loop sends the requests that had gathered when it began: under load, hundreds. Later ones wait for
// the next turn. If there is no room, the rest waits until has_room().
void RequestSender::send_submitted() {
  SealedRequests block;
  std::size_t blocks = 0;
  for (std::size_t sent = 0;; ++sent) {
    const bool room = way_.has_room();
    {
      std::lock_guard lock(mutex_);
      outbox_.take_back(std::move(block));
      if (sent == 0) blocks = outbox_.blocks();
      sending_ = !outbox_.empty();
      if (!sending_ || !room) return;
      if (sent == blocks) break;
      block = outbox_.take_first();
    }
    if (const Status taken = way_.send(block); !taken) give_up(block, taken.error());
  }
  loop_.post([this] { send_submitted(); });
}

bool RequestSender::note_answered(std::uint64_t sent_and_answered) {
  answered_.store(sent_and_answered + given_up_, std::memory_order_relaxed);
  return unanswered() == 0;
}

void RequestSender::close(const Error& error) {
  RequestOutbox left;
  {
    std::lock_guard lock(mutex_);
    if (!closed_) closed_ = error;
    std::swap(left, outbox_);
    sending_ = false;
  }
  while (!left.empty()) {
    SealedRequests block = left.take_first();
    give_up(block, error);
  }
}

void RequestSender::give_up(SealedRequests& requests, const Error& error) {
  for (SealedRequests::Asked& asked : requests.asked) {
    const auto ticket = std::static_pointer_cast<PendingTicket>(std::move(asked.ticket));
    ticket->given_up(ticket, {error.code, ticket->operation(), error.context});
  }
  given_up_ += requests.asked.size();
  answered_.fetch_add(requests.asked.size(), std::memory_order_relaxed);
}

}  // namespace tenure

#pragma once

// Requests on their way from the threads that submit them to the loop that sends them, in their order. They come
// encoded, one behind the other in one block: of loops there is one, and it has nothing left to do but copy bytes.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/fetch_ahead.h"
#include "node/request.h"
#include "pool/pending_ticket.h"

namespace tenure {

// Not thread-safe: a core fills one under its lock, and sends from another.
class Outbox {
 public:
  struct First {
    SealedRequest request;
    const TicketPtr& ticket;
  };

  void push(const SealedRequest& request, TicketPtr ticket) {
    records_.append(request.record);
    const auto bytes = static_cast<std::uint32_t>(request.record.size());
    waiting_.push_back({std::move(ticket), request.ticket, bytes, request.single});
  }

  bool empty() const { return next_ == waiting_.size(); }

  First first() const {
    const Waiting& first = waiting_[next_];
    // The tickets were written by other threads, and come from their processors' caches.
    if (next_ + kAhead < waiting_.size()) fetch_ahead(waiting_[next_ + kAhead].ticket.get(), sizeof(OpenTicket));
    return {{first.number, first.single, BytesView(records_).substr(sent_bytes_, first.bytes)}, first.ticket};
  }

  void pop() {
    Waiting& first = waiting_[next_++];
    first.ticket.reset();
    sent_bytes_ += first.bytes;
    if (!empty()) return;
    // The memory is used again, unless it is what a flood has left.
    if (records_.capacity() > kKeptBytes) *this = {};
    records_.clear();
    waiting_.clear();
    next_ = 0;
    sent_bytes_ = 0;
  }

  // What waits because of a request, while it does.
  static std::size_t cost(BytesView record) { return sizeof(Waiting) + sizeof(PendingTicket) + record.size(); }

 private:
  static constexpr std::size_t kKeptBytes = 1U << 20;
  static constexpr std::size_t kAhead = 8;

  struct Waiting {
    TicketPtr ticket;
    std::uint64_t number;
    std::uint32_t bytes;  // a payload has a bound that is far below
    bool single;
  };

  Bytes records_;
  std::vector<Waiting> waiting_;
  std::size_t next_ = 0;        // of waiting_: those before it have been sent
  std::size_t sent_bytes_ = 0;  // of records_: theirs
};

}  // namespace tenure

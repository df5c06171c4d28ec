#pragma once

// Requests on their way from the threads that submit them to the loop that sends them, in their order. They come
// encoded, and in blocks that are about as large as what is sent at a time: of loops there is one, and it has nothing
// left to do but pass them on.

#include <cstdint>
#include <utility>

#include "base/front_queue.h"
#include "node/appender.h"
#include "node/request.h"
#include "pool/pending_ticket.h"

namespace tenure {

// Not thread-safe: a core fills one under its lock, and sends from another.
class RequestOutbox {
 public:
  void push(const SealedRequest& request, TicketPtr ticket) {
    if (blocks_.empty() || blocks_.back().records.size() >= kBatchBytes) add_block();
    blocks_.back().add(request, std::move(ticket));
  }

  bool empty() const { return blocks_.empty(); }
  SealedRequests& first() { return blocks_.front(); }
  void pop() {
    SealedRequests sent = blocks_.take_front();
    sent.clear();
    spare_ = std::move(sent);
  }

  // What waits because of such requests, while they do.
  static std::size_t cost(std::size_t requests, std::size_t bytes) {
    return requests * (sizeof(SealedRequests::Asked) + sizeof(PendingTicket)) + bytes;
  }

 private:
  // Behind a full block this one will be full too: to grow step by step would copy and touch twice as much.
  void add_block() {
    const bool flood = !blocks_.empty();
    blocks_.push_back(std::exchange(spare_, {}));
    if (flood) blocks_.back().records.reserve(kBatchBytes + kLastRecordRoom);
  }

  FrontQueue<SealedRequests> blocks_;
  SealedRequests spare_;  // its memory is used again
};

}  // namespace tenure

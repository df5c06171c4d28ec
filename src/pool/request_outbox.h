#pragma once

// Requests on their way from the threads that submit them to the loop that sends them, in their order. They come
// encoded, and in blocks that are about as large as what is sent at a time: there is only one loop, and all that is
// left for it to do is to pass them on.

#include <cstdint>
#include <utility>

#include "base/front_queue.h"
#include "node/appender.h"
#include "node/request.h"
#include "pool/pending_ticket.h"

namespace tenure {

// Not thread-safe: a RequestSender has it under its lock.
class RequestOutbox {
 public:
  void push(const SealedRequest& request, TicketPtr ticket) {
    if (blocks_.empty() || blocks_.back().records.size() >= kBatchBytes) add_block();
    blocks_.back().add(request, std::move(ticket));
    cost_ += cost_of(1, request.record.size());
  }

  bool empty() const { return blocks_.empty(); }
  std::size_t blocks() const { return blocks_.size(); }
  // The bytes that the process needs for what waits here.
  std::size_t cost() const { return cost_; }

  SealedRequests take_first() {
    SealedRequests first = blocks_.take_front();
    cost_ -= cost_of(first.asked.size(), first.records.size());
    return first;
  }
  // A block that has been sent: its memory is used again.
  void take_back(SealedRequests sent) {
    sent.clear();
    if (sent.records.capacity() + sent.asked.capacity() != 0) spare_ = std::move(sent);
  }

 private:
  static std::size_t cost_of(std::size_t requests, std::size_t bytes) {
    return requests * (sizeof(SealedRequests::Asked) + sizeof(PendingTicket)) + bytes;
  }

  // Behind a full block this one will be full too: to grow step by step would copy and touch twice as much.
  void add_block() {
    const bool flood = !blocks_.empty();
    blocks_.push_back(std::exchange(spare_, {}));
    if (flood) blocks_.back().records.reserve(kBatchBytes + kLastRecordRoom);
  }

  FrontQueue<SealedRequests> blocks_;
  std::size_t cost_ = 0;
  SealedRequests spare_;
};

}  // namespace tenure

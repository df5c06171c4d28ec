#pragma once

// Requests on their way from the submitting threads to the loop that sends them, in order. They are encoded, and
// grouped in blocks of about the size of a batch: there is only one loop, and it should only have to pass them on.

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
  // The memory that the waiting requests take.
  std::size_t cost() const { return cost_; }

  SealedRequests take_first() {
    SealedRequests first = blocks_.take_front();
    cost_ -= cost_of(first.asked.size(), first.records.size());
    return first;
  }
  // Takes back a block that was sent, to reuse its memory.
  void take_back(SealedRequests sent) {
    sent.clear();
    if (sent.records.capacity() + sent.asked.capacity() != 0) spare_ = std::move(sent);
  }

 private:
  static std::size_t cost_of(std::size_t requests, std::size_t bytes) {
    return requests * (sizeof(SealedRequests::Asked) + sizeof(PendingTicket)) + bytes;
  }

  // After a full block, the next one will be full too. Growing step by step would copy and touch twice as much.
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

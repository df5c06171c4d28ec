#pragma once

// Remembers which batches were applied, so that an append whose answer was lost can be sent again.

#include <cstdint>
#include <map>

#include "machine/limits.h"

namespace tenure {

struct Sender {
  std::uint64_t last = 0;    // the largest sequence seen
  std::uint64_t seen = 0;    // bit i: last - i was seen
  std::int64_t used_ms = 0;  // log time of its last batch
  std::uint64_t order = 0;   // position of that batch in the order of all
};

class Senders {
 public:
  // True if the batch is new. Remembers it. A sequence that is too old to tell counts as a duplicate.
  bool accept(std::uint64_t sender, std::uint64_t sequence, std::int64_t log_time_ms);

  // The largest sequence of a sender. Zero if the sender is unknown.
  std::uint64_t last(std::uint64_t sender) const {
    const auto found = senders_.find(sender);
    return found == senders_.end() ? 0 : found->second.last;
  }

  // Another log of the pool has seen these of a sender's batches.
  void merge(std::uint64_t sender, std::uint64_t last, std::uint64_t seen, std::int64_t log_time_ms);

  const std::map<std::uint64_t, Sender>& all() const { return senders_; }
  std::uint64_t orders() const { return orders_; }
  void restore(std::map<std::uint64_t, Sender> senders, std::uint64_t orders);

 private:
  void forget_old(std::int64_t log_time_ms);

  std::map<std::uint64_t, Sender> senders_;
  std::map<std::uint64_t, std::uint64_t> by_order_;  // least recently used first
  std::uint64_t orders_ = 0;
};

}  // namespace tenure

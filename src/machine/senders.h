#pragma once

// Remembers which batches were applied, so that an append whose answer was lost can be sent again.

#include <cstdint>
#include <list>
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
  Senders() = default;
  Senders(Senders&&) = default;
  Senders& operator=(Senders&&) = default;

  // True if the batch is new. Remembers it. A sequence that is too old to tell counts as a duplicate.
  bool accept(std::uint64_t sender, std::uint64_t sequence, std::int64_t log_time_ms);

  // The largest sequence of a sender. Zero if the sender is unknown.
  std::uint64_t last(std::uint64_t sender) const {
    const auto found = senders_.find(sender);
    return found == senders_.end() ? 0 : found->second.last;
  }

  // Another log of the pool has seen these of a sender's batches.
  void merge(std::uint64_t sender, std::uint64_t last, std::uint64_t seen, std::int64_t log_time_ms);

  // Calls `visit` for each sender, in the order of their ids.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [id, kept] : senders_) visit(id, static_cast<const Sender&>(kept));
  }
  const Sender& at(std::uint64_t sender) const { return senders_.at(sender); }
  std::uint64_t orders() const { return orders_; }
  void restore(const std::map<std::uint64_t, Sender>& senders, std::uint64_t orders);

 private:
  struct Kept;
  using Table = std::map<std::uint64_t, Kept>;
  using ByUse = std::list<Table::iterator>;
  struct Kept : Sender {
    ByUse::iterator place;
  };

  Kept& kept(std::uint64_t sender);
  void use(Kept& kept, std::int64_t log_time_ms);
  void forget_old(std::int64_t log_time_ms);

  Table senders_;
  ByUse by_use_;  // least recently used first
  std::uint64_t orders_ = 0;
};

}  // namespace tenure

#pragma once

// Moves the orders that failed for good from the pool's dead letters to a topic of the operator's.
//
//   pool's dead letters ─ list ─▶ mover ─ add ─▶ topic
//                       ◀─ drop ───┘ once the topic has it
//
// It is a resident, so that one process of the pool does it at a time. An order stays in the pool until the topic has
// it, so none is lost. If a process dies between the two steps, the order comes twice, with the same header `order`.
// The event has the original bytes, the order as its key, and headers that say why (see headers_of()).

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tenure/pool.hpp>
#include <thread>

#include "source/source.h"

namespace tenure::orders {

// The mover's key and type in the pool. The keys of orders have two slashes.
inline constexpr const char* kMoverKey = "orders/dead-letters";
inline constexpr const char* kMoverType = "orders-dead-letters";

// order, attempts, error, dead-ms (when it died, since 1970), epoch, pool; each with `tenure-` in front.
std::vector<std::pair<Bytes, Bytes>> headers_of(const DeadJob& dead, std::string_view pool, std::int64_t now_ms);

struct MoverParts {
  std::string topic_url;   // of the topic, as a source has it
  std::string order_type;  // of the tasks that are orders; other dead letters stay where they are
  std::string pool;
  std::function<void(const std::string&)> log;  // any thread
};

// A handler for the mover. The pool must outlive it.
std::shared_ptr<Handler> dead_letter_mover(Pool& pool, MoverParts parts);
// Adds a worker for the mover to the pool, and the mover itself, unless the pool has it.
Status add_dead_letter_mover(Pool& pool, MoverParts parts);

}  // namespace tenure::orders

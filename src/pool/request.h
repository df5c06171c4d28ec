#pragma once

// What a user asks of a pool, on its way to the log.

#include <cstdint>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "machine/effects.h"
#include "pool/pending_ticket.h"

namespace tenure {

namespace v1 {
class Record;
}  // namespace v1

struct Request {
  enum class Kind : std::uint8_t { dispatch, notify, stop, retry_dead, drop_dead };

  Kind kind = Kind::dispatch;
  JobKind job = JobKind::resident;
  Bytes key;
  Bytes text;  // the payload, or the message
  Nanos delay{};
  std::uint32_t max_attempts = 0;
  std::uint64_t dead_id = 0;

  const char* operation() const;
  // Acceptance is all there is to hear of it.
  bool single() const { return kind != Kind::dispatch && kind != Kind::stop; }
  std::size_t bytes() const { return sizeof(Request) + key.size() + text.size(); }
  // Refuses with Errc::invalid what is empty, malformed or over a bound.
  Status check() const;
  // As a record without a ticket.
  v1::Record record() const;
};

// A request that has been given a ticket.
struct Submission {
  Request request;
  TicketPtr ticket;
};

}  // namespace tenure

#pragma once

// What a user asks of a pool, on its way to the log.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "machine/effects.h"

namespace tenure {

class OpenTicket;

struct Request {
  enum class Kind : std::uint8_t { dispatch, notify, stop, retry_dead, drop_dead };

  Kind kind = Kind::dispatch;
  JobKind job = JobKind::resident;
  Bytes key{};
  Bytes text{};  // the payload, or the message
  Nanos delay{};
  std::uint32_t max_attempts = 0;
  std::uint64_t dead_id = 0;

  const char* operation() const;
  // Acceptance is all there is to hear of it.
  bool single() const { return kind != Kind::dispatch && kind != Kind::stop; }
  // Refuses with Errc::invalid what is empty, malformed or over a bound.
  Status check() const;
  // Appends it as a record under this ticket, ready to be put into a batch. `answer_in_log`: the one who asks keeps no
  // state, and wants the outcome said in the log.
  void encode(std::uint64_t ticket, bool answer_in_log, Bytes& into) const;
};

// What a request is told that finds the way to the log full.
inline Failure busy() { return fail(Errc::busy, "append", "too much is waiting to be sent; try again shortly"); }

// A request that was found sound and has been encoded, so that nothing but its bytes is left to be sent.
struct SealedRequest {
  std::uint64_t ticket;
  bool single;
  BytesView record;
};

// Requests that go together, in their order. Their records lie one behind the other, so that a loop through which all
// of them pass has little left to do.
struct SealedRequests {
  struct Asked {
    std::shared_ptr<OpenTicket> ticket;
    std::uint64_t number = 0;
    std::uint32_t bytes = 0;  // of the records; a payload has a bound that is far below
    bool single = false;
  };

  Bytes records;
  std::vector<Asked> asked;

  void add(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket) {
    records.append(request.record);
    const auto bytes = static_cast<std::uint32_t>(request.record.size());
    asked.push_back({std::move(ticket), request.ticket, bytes, request.single});
  }
  // The memory stays.
  void clear() {
    records.clear();
    asked.clear();
  }
};

}  // namespace tenure

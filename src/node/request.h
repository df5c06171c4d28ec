#pragma once

// A user's request to a pool, on its way to the log.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "machine/effects.h"
#include "node/sources/emission.h"

namespace tenure {

class OpenTicket;

struct Request {
  enum class Kind : std::uint8_t { dispatch, notify, stop, retry_dead, drop_dead, emit, forget_source, set_partitions };

  Kind kind = Kind::dispatch;
  JobKind job = JobKind::resident;
  Bytes key{};   // of forget_source: the source
  Bytes text{};  // the payload, or the message
  Bytes type{};
  Nanos delay{};
  std::uint32_t max_attempts = 0;
  std::uint64_t dead_id = 0;
  std::shared_ptr<const ShardEmission> emission{};  // of emit; such a request is never answered in the log
  Ring ring{};                                      // of set_partitions
  bool own = false;  // of the library itself, which may use names that users may not (machine/own_names.h)

  const char* operation() const;
  // Its acceptance is its only result.
  bool single() const {
    return kind == Kind::retry_dead || kind == Kind::drop_dead || kind == Kind::emit || kind == Kind::forget_source ||
           kind == Kind::set_partitions;
  }
  // Errc::invalid if anything is empty, malformed or over a bound.
  Status check() const;
  // The first machine version that knows it.
  std::uint32_t version() const;
  // Appends it to `into` as a record with this ticket, ready for a batch. `answer_in_log`: the dispatcher keeps no
  // state, and needs the outcome in the log.
  void encode(std::uint64_t ticket, bool answer_in_log, Bytes& into) const;
  // The tickets of the tasks of an emit that has this ticket.
  static std::uint64_t task_ticket(std::uint64_t ticket, std::size_t task) { return hash_mix(ticket, task + 1) | 1; }

 private:
  Status check_names() const;
};

// The error for a request when too much is waiting to be sent.
inline Failure busy() { return fail(Errc::busy, "append", "too much is waiting to be sent; try again shortly"); }

// A request that was checked and encoded, so that only its bytes have to be sent.
struct SealedRequest {
  std::uint64_t ticket;
  bool single;
  BytesView record;
};

// Requests that are sent together, in order. Their records are encoded one after the other, so that a loop that many of
// them pass has little left to do.
struct SealedRequests {
  struct Asked {
    std::shared_ptr<OpenTicket> ticket;
    std::uint64_t number = 0;
    std::uint32_t bytes = 0;  // size of the record; the limit on payloads is far below this type's
    bool single = false;
  };

  Bytes records;
  std::vector<Asked> asked;

  void add(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket) {
    records.append(request.record);
    const auto bytes = static_cast<std::uint32_t>(request.record.size());
    asked.push_back({std::move(ticket), request.ticket, bytes, request.single});
  }
  // Keeps the memory.
  void clear() {
    records.clear();
    asked.clear();
  }
};

}  // namespace tenure

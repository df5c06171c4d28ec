#pragma once

// Errors as values. An Error has a code for programs to branch on, the operation that failed, and the context that a
// person needs in order to act. A plain value; not thread-safe.
//
//     if (!ticket && ticket.error().code == tenure::Errc::key_exists) return;  // somebody else was first
//     std::cerr << ticket.error().message() << '\n';

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure {

enum class Errc : std::uint8_t {
  // The request itself.
  invalid = 1,    // malformed, empty or over a limit; nothing was written
  key_exists,     // the key already has a job
  no_such_key,    // the key has no job
  pool_full,      // the pool has reached its limit of queued jobs or of workers
  shutting_down,  // the pool is shutting down
  job_failed,     // the handler failed; the context has its error
  // The log.
  unavailable,   // the engine cannot be reached now; a retry may succeed
  unknown,       // an append may or may not have taken effect; sending it again is safe
  refused,       // the engine rejects it (read-only, wrong pool, no permission); a retry will fail too
  full,          // the disk or the server is full
  corrupt,       // the engine's data is damaged
  version,       // the data was written in a version that this program does not know
  trimmed,       // the position was trimmed from the log: start from the snapshot
  lost_history,  // entries are missing or have changed: fence, reload, rejoin
  closed,        // the log or the node was closed
  timed_out,     // a deadline passed; the request may still take effect
  busy,          // a limit of this process is reached; retry shortly
  // Checkout pools.
  overloaded,    // no worker is free and the queue is full
  pool_down,     // the pool is closed, is draining or has given up; the context says why
  no_such_pool,  // there is no pool of that name, or, for checkout pools, none in this process
  worker_died,   // the worker died before or while the caller used it
};

// The name of a code, as written above.
std::string_view to_string(Errc code);

struct Error {
  Errc code;
  std::string operation;
  std::string context;

  // A text for people, such as "sqlite append: full (tenure.db: database or disk is full)".
  std::string message() const;
};

}  // namespace tenure

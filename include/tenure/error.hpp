#pragma once

// What can go wrong, as values. An Error is a code that programs branch on, the operation that failed, and the
// context a person needs in order to act.
//
//     if (!ticket && ticket.error().code == tenure::Errc::key_exists) return;  // somebody else was first
//     std::cerr << ticket.error().message() << '\n';

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure {

enum class Errc : std::uint8_t {
  // The request itself.
  invalid = 1,    // malformed, empty or over a bound; refused before anything was written
  key_exists,     // the key already has a job
  no_such_key,    // the key has no job
  pool_full,      // a bound of the pool is reached: of queued jobs, or of workers
  shutting_down,  // the pool is ending
  job_failed,     // the handler said so; its error is the context
  // The log.
  unavailable,   // the engine cannot be reached now; it may be tried again
  unknown,       // an append may or may not have taken effect; sending it again is safe
  refused,       // the engine will not take it (read-only, wrong pool, no permission); trying again is futile
  full,          // no room on the disk or in the server
  corrupt,       // the engine's data is damaged
  version,       // written by a version that this one does not speak
  trimmed,       // the position lies before what the log still keeps: start from the snapshot
  lost_history,  // entries that were there are gone or different: fence, reload, rejoin
  closed,        // the log or the node was closed
  timed_out,     // a deadline passed; what was sent may still happen
  busy,          // a bound of this process is reached; try again shortly
  // Checkout pools.
  overloaded,    // no worker is free and the queue has no room
  pool_down,     // the pool is closed, draining or has given up; the context says why
  no_such_pool,  // no pool of that name is open in this process
  worker_died,   // the worker died on its way to the one who asked for it
};

// The code's name, as written above.
std::string_view to_string(Errc code);

struct Error {
  Errc code;
  std::string operation;
  std::string context;

  // "sqlite append: full (tenure.db: database or disk is full)", for people.
  std::string message() const;
};

}  // namespace tenure

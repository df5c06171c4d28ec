#pragma once

// Jobs and tenures as seen from outside the machine. The views are valid until the next entry.

#include <cstdint>

#include "base/bytes.h"
#include "machine/effects.h"
#include "machine/keys/key_table.h"

namespace tenure {

struct DeadLetter {
  Bytes key;
  JobKind kind = JobKind::task;
  bool quarantined = false;
  JobId job = kNone;
  std::uint64_t epoch = 0;  // of its last tenure
  std::int64_t since_ms = 0;
  Bytes error;
};

// A past tenure of a resident. Kept for people; no rule needs it.
struct PastTenure {
  Bytes key;
  Bytes worker;
  std::uint64_t epoch = 0;
  std::int64_t started_ms = 0;  // the engine's time, as is the end; zero if it did not start
  std::int64_t ended_ms = 0;
  TenureEnd why{};
  bool quarantined = false;
  Bytes error{};  // the beginning of it, if the handler failed

  std::size_t bytes() const { return key.size() + worker.size() + error.size() + 40; }
};

struct JobInfo {
  BytesView key;
  JobKind kind;
  BytesView type;
  JobState state;
  BytesView worker;  // the holder, or empty
  BytesView target;  // the worker that should hold it, or empty
  bool served;       // an open worker serves the key
  std::uint64_t session;
  std::uint64_t epoch;
  std::uint32_t attempt;
  std::int64_t since_ms;    // log time
  std::int64_t due_ms;      // log time, of the timer that it waits for; zero if there is none
  std::int64_t started_ms;  // the engine's time; zero if it has not started
  Past past;
  std::uint64_t ticket;
  bool answer_in_log;
  BytesView payload;
  bool has_checkpoint;
  BytesView checkpoint;
  BytesView error;  // the last one, if it has not run well since
  bool lent;        // a part of a partition, brought to an idle worker
};

struct TicketView {
  std::uint64_t ticket;
  TicketState state;  // accepted, started or failed; for a held task it does not distinguish accepted and started
  std::uint64_t epoch;
  BytesView worker;
  BytesView error;
};

}  // namespace tenure

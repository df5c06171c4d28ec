#pragma once

// The effects of an entry. Every node's machine reports the same effects at the same position. A node acts on those of
// its own session, `tenure explain` builds the history from them, and the simulator compares them.

#include <cstdint>
#include <tenure/kinds.hpp>

#include "assign/ranked.h"
#include "base/bytes.h"
#include "base/result.h"

namespace tenure {

namespace v1 {
class Ask;
}  // namespace v1

// Why a tenure ended.
enum class TenureEnd : std::uint8_t {
  handoff,  // released so that another worker can hold the key
  stopped,  // released because a user stopped the job, or the pool shut down
  done,     // the task is done, or the resident job finished by itself
  failed,   // the handler said so
  left,     // the worker's session ended normally while it still held the key
  fenced,   // the worker ended its own session after its lease had run out
  crashed,  // another process saw the worker's process die
  expired,  // no beat for a whole lease
};

struct TenureRef {
  std::uint64_t session;
  BytesView worker;
  BytesView key;
  std::uint64_t epoch;
};

struct Grant {
  TenureRef tenure;
  JobKind kind;
  BytesView type;
  bool first;          // the job was never held before
  bool answer_in_log;  // the holder's records must name the ticket
  bool has_checkpoint;
  std::uint32_t attempt;  // from 1
  std::uint64_t ticket;
  BytesView payload;
  BytesView checkpoint;
};

// The new state of a ticket: accepted or refused first, then the steps of its job.
struct Settlement {
  std::uint64_t ticket;
  TicketState state;
  Errc code;  // only if refused
  std::uint64_t epoch;
  BytesView worker;
  BytesView text;  // the result if done, the error if failed
};

// A beat that extends its session.
struct SeenBeat {
  std::uint64_t session;
  std::uint64_t number;
  std::uint64_t digest_position;  // zero if the beat has no digest
  std::uint64_t digest;
  std::uint64_t read;  // the sender has applied the log up to here
};

enum class SessionEnd : std::uint8_t { left, fenced, crashed, expired };

// Tasks of a source were taken in, together with the position.
struct Emitted {
  BytesView source;
  BytesView key;
  std::uint64_t epoch;
  std::uint64_t before;    // the position until now
  std::uint64_t position;  // from now on
  std::uint64_t tasks;
  std::uint64_t buried;  // of them, because their keys had residents, or their events cannot be tasks
  std::uint64_t lost;    // events that the source lost before they were read
};

// A state that was put back, or is about to be, from what a member remembers of a log that was lost.
struct Restored {
  std::uint64_t session;   // of the member that puts it back, or did so last
  std::uint64_t position;  // of what it remembers
  std::uint64_t log;       // and of which log
  bool on_request;         // of a person
  std::uint64_t keys;      // that are back
  std::uint64_t jobs;      // of these, and dead ones
  std::uint64_t left_out;  // jobs whose key was taken anew meanwhile
};

// The position and time of the entry that caused an effect.
struct At {
  std::uint64_t position = 0;
  std::int64_t engine_ms = 0;
};

// Effects are grouped by part of the machine, so that a listener gets only those it needs. They are called while an
// entry is applied: a listener must not call back into the machine, and the views are valid during the call only.

class SessionEffects {
 public:
  virtual ~SessionEffects() = default;

  virtual void joined(const At&, std::uint64_t /*session*/) {}
  virtual void beat_seen(const At&, const SeenBeat&) {}
  virtual void session_ended(const At&, std::uint64_t /*session*/, SessionEnd) {}
};

class TicketEffects {
 public:
  virtual ~TicketEffects() = default;

  virtual void settled(const At&, const Settlement&) {}
  // The eldest node must write this answer to the log, for a dispatcher that keeps no state.
  virtual void answer_due(const At&, const Settlement&) {}
};

class KeyEffects {
 public:
  virtual ~KeyEffects() = default;

  virtual void worker_added(const At&, std::uint64_t /*session*/, BytesView /*worker*/) {}
  virtual void worker_refused(const At&, std::uint64_t /*session*/, BytesView /*worker*/, Errc) {}
  virtual void worker_removed(const At&, std::uint64_t /*session*/, BytesView /*worker*/) {}

  // The worker's starts keep failing: it gets no more keys, but for one now and then to try. And: it does again.
  virtual void worker_unfit(const At&, std::uint64_t /*session*/, BytesView /*worker*/, BytesView /*error*/) {}
  virtual void worker_fit(const At&, std::uint64_t /*session*/, BytesView /*worker*/) {}

  virtual void granted(const At&, const Grant&) {}
  virtual void started(const At&, const TenureRef&) {}
  virtual void stop_asked(const At&, const TenureRef&, StopReason) {}
  virtual void message(const At&, const TenureRef&, std::uint64_t /*number*/, BytesView /*message*/) {}
  // Its handler could not start it, or failed later. The tenure ends with it.
  virtual void tenure_failed(const At&, const TenureRef&, BytesView /*error*/) {}
  virtual void ended(const At&, const TenureRef&, TenureEnd) {}
  // The job has no holder, and gets none until somebody retries or drops it.
  virtual void buried(const At&, BytesView /*key*/, std::uint64_t /*dead_id*/, bool /*quarantined*/) {}

  // A job is back from what members remember of a log that was lost. It is dead if it was dead then.
  virtual void job_restored(const At&, BytesView /*key*/, std::uint64_t /*ticket*/, bool /*dead*/) {}

  // The pool has these partitions from here on.
  virtual void partitions_set(const At&, const Ring&) {}
  // It makes this one, whose job has that ticket: nobody has asked for it.
  virtual void partition_made(const At&, BytesView /*key*/, std::uint64_t /*ticket*/) {}

  // Under chosen assignment: this key needs a choice; or the workers changed, so all keys need new choices.
  virtual void choice_due(const At&, BytesView /*key*/) {}
  virtual void choices_due(const At&) {}
};

class SourceEffects {
 public:
  virtual ~SourceEffects() = default;

  virtual void emitted(const At&, const Emitted&) {}
  // What a member remembers of a source in a log that was lost is back.
  virtual void source_restored(const At&, BytesView /*source*/, std::uint64_t /*position*/) {}
  virtual void source_forgotten(const At&, BytesView /*source*/) {}
};

class PoolEffects {
 public:
  virtual ~PoolEffects() = default;

  // From here on the pool applies the rules of this machine version.
  virtual void version_switched(const At&, std::uint32_t /*version*/) {}
  virtual void saved(const At&, std::uint64_t /*position*/) {}
  // A client without the state requests a listing. The eldest node must answer.
  virtual void asked(const At&, const v1::Ask&) {}

  virtual void shutdown_began(const At&) {}
  // A pool that is shutting down has nothing left to do, so members must leave. Called once.
  virtual void shutdown_drained(const At&) {}
  virtual void pool_gone(const At&) {}

  virtual void restoring(const At&, const Restored&) {}
  virtual void restored(const At&, const Restored&) {}
};

class Effects : public SessionEffects,
                public TicketEffects,
                public KeyEffects,
                public SourceEffects,
                public PoolEffects {};

}  // namespace tenure

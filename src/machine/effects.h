#pragma once

// What a machine tells those who apply it. Every node's machine says the same at the same position; a node's
// runtime acts on what concerns its own session, `tenure explain` writes history from it, the simulator compares.

#include <cstdint>
#include <tenure/kinds.hpp>

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
  left,     // the worker's session ended in good order while it still held the key
  fenced,   // the worker ended its own session after its lease had run out
  crashed,  // somebody saw the worker's process die
  expired,  // the worker was not heard of for a lease
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
  bool first;  // the job has never been held before
  bool say;    // the holder's records are to name the ticket
  bool has_checkpoint;
  std::uint32_t attempt;  // from 1
  std::uint64_t ticket;
  BytesView payload;
  BytesView checkpoint;
};

// What became of a ticket: accepted or refused first, then the steps of the job it stands for.
struct Settlement {
  std::uint64_t ticket;
  TicketState state;
  Errc code;  // only if refused
  std::uint64_t epoch;
  BytesView worker;
  BytesView text;  // the result if done, the error if failed
};

// A beat that counts: the session lives on.
struct SeenBeat {
  std::uint64_t session;
  std::uint64_t number;
  std::uint64_t digest_position;  // zero if it gives no digest
  std::uint64_t digest;
  std::uint64_t read;  // the sender has applied the log up to here
};

enum class SessionEnd : std::uint8_t { left, fenced, crashed, expired };

// Called while an entry is being applied: implementations must not call back into the machine, and the views die
// with the call.
class Effects {
 public:
  virtual ~Effects() = default;

  virtual void granted(const Grant&) {}
  virtual void started(const TenureRef&) {}
  virtual void stop_asked(const TenureRef&, StopReason) {}
  virtual void message(const TenureRef&, std::uint64_t /*number*/, BytesView /*message*/) {}
  virtual void ended(const TenureRef&, TenureEnd) {}
  // The job has no holder and gets none until somebody retries or drops it.
  virtual void buried(BytesView /*key*/, std::uint64_t /*dead_id*/, bool /*quarantined*/) {}

  virtual void settled(const Settlement&) {}
  // The eldest node is to append this answer, for a dispatcher that keeps no state.
  virtual void answer_due(const Settlement&) {}

  virtual void joined(std::uint64_t /*session*/) {}
  virtual void beat_seen(const SeenBeat&) {}
  virtual void session_ended(std::uint64_t /*session*/, SessionEnd) {}
  virtual void worker_added(std::uint64_t /*session*/, BytesView /*worker*/) {}
  virtual void worker_refused(std::uint64_t /*session*/, BytesView /*worker*/, Errc) {}
  virtual void worker_removed(std::uint64_t /*session*/, BytesView /*worker*/) {}

  // Under chosen assignment: this key waits for a choice; or the workers changed, so that every choice is due again.
  virtual void choice_due(BytesView /*key*/) {}
  virtual void choices_due() {}

  virtual void saved(std::uint64_t /*position*/) {}
  // Somebody who has not loaded the state asks what it says. The eldest node is to tell.
  virtual void asked(const v1::Ask&) {}

  virtual void shutdown_began() {}
  // Nothing is left to do in a pool that is shutting down: members are to leave. Said once.
  virtual void shutdown_drained() {}
  virtual void pool_gone() {}
};

}  // namespace tenure

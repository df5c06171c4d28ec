#pragma once

// The events of a run as seen from outside, with true times. The checker reads nothing else. It has what users, their
// handlers and an onlooker at the log saw, and nothing about how the pool did it.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "sim/world/dice.h"

namespace tenure::sim {

using ProcessNumber = std::uint32_t;
constexpr ProcessNumber kOnlooker = UINT32_MAX;  // the observer at the log, where a process is to be named

// Processes.
struct ProcessCrashed {
  ProcessNumber process;
};
struct ProcessLeft {  // it ended in good order
  ProcessNumber process;
};
struct ProcessPaused {
  ProcessNumber process;
};
struct ProcessResumed {
  ProcessNumber process;
};

// A node stopped for good because it cannot continue.
struct NodeBroke {
  ProcessNumber process;
  std::string why;
};

// The node believes that its session lasts until then, in true time. The latest word counts.
struct Leased {
  ProcessNumber process;
  std::uint64_t session;
  Time until;
};

// User code for a tenure runs from HoldBegan to HoldEnded.
struct HoldBegan {
  ProcessNumber process;
  std::uint64_t session;
  std::string key;
  std::uint64_t epoch;
  std::uint64_t ticket;
  std::uint64_t given;  // the checkpoint or blob it was started with; zero if none
};
struct HoldEnded {
  ProcessNumber process;
  std::string key;
  std::uint64_t epoch;
};
// The handler wrote to a store of its own that refuses an epoch smaller than the largest it has seen for the key.
struct Wrote {
  ProcessNumber process;
  std::string key;
  std::uint64_t epoch;
  bool accepted;
};
// The handler got the message that the client sent under this ticket.
struct Delivered {
  ProcessNumber process;
  std::string key;
  std::uint64_t epoch;
  std::uint64_t ticket;
  bool refused = false;  // it takes no messages, or failed
};

// Clients.
enum class Ask : std::uint8_t { resident, task, notify, stop, retry_dead, drop_dead };
enum class Step : std::uint8_t { accepted, refused, started, done, failed, stopped };
struct Asked {
  ProcessNumber process;
  std::uint64_t ticket;
  Ask ask;
  std::string key;
  bool delayed = false;  // not before some time: it may be overtaken
  std::uint64_t of = 0;  // for retry_dead and drop_dead: the ticket of the buried job
  Time delay = 0;
};
struct Answered {
  ProcessNumber process;
  std::uint64_t ticket;
  Step step;
  Errc code;  // only if refused
};

// The client was told that nobody can say what became of it.
struct TicketLost {
  ProcessNumber process;
  std::uint64_t ticket;
};

// The log, as the onlooker reads it: at once, whole, and in order. Positions may come again after a loss.
struct LogSettled {
  std::uint64_t position;
  std::uint64_t ticket;
  Step step;
  Errc code;  // only if refused
};
struct LogGranted {
  std::uint64_t position;
  std::string key;
  std::uint64_t epoch;
  std::uint64_t ticket;
  bool first;  // the job was never held before
};
enum class HowEnded : std::uint8_t { handoff, stopped, done, failed, lost };
struct LogEnded {
  std::uint64_t position;
  std::string key;
  std::uint64_t epoch;
  HowEnded how = HowEnded::handoff;
};
// The holder was told that its start takes too long.
struct LogTimedOut {
  std::uint64_t position;
  std::string key;
  std::uint64_t epoch;
};
// A session was declared dead, or gave itself up.
struct LogFenced {
  std::uint64_t position;
  std::uint64_t session;
};
struct LogBuried {
  std::uint64_t position;
  std::uint64_t ticket;
};
// A checkpoint, or the blob of a release. Repetitions are recognised by sender and sequence.
struct LogBlob {
  std::uint64_t position;
  std::uint64_t sender;
  std::uint64_t sequence;
  std::string key;
  std::uint64_t epoch;
  std::uint64_t value;
};
// Everything after `kept` is gone from the log, even if somebody had read it.
struct LogLost {
  std::uint64_t kept;
  bool replaced = false;  // by a new log, while nodes that know the old one continue in it
};
// The same two in a log that had been replaced by then: nodes that still follow it may act on them for a while.
struct GhostSettled {
  std::uint64_t ticket;
  Step step;
};
struct GhostGranted {
  std::string key;
  std::uint64_t epoch;
  std::uint64_t ticket;
};
// A process has applied the log up to an entry, named by a number that is never used again.
struct Digest {
  ProcessNumber process;
  std::uint64_t entry;
  std::uint64_t digest;
};

// The run.
struct Healed {};  // no fault is active from here on
struct Closed {    // the end, and what the log looks like then
  std::uint64_t log_entries;
  std::uint64_t bytes_since_snapshot;
  std::uint64_t snapshot_bytes;
};

using What =
    std::variant<ProcessCrashed, ProcessLeft, ProcessPaused, ProcessResumed, NodeBroke, Leased, HoldBegan, HoldEnded,
                 Wrote, Delivered, Asked, Answered, TicketLost, LogSettled, LogGranted, LogEnded, LogTimedOut,
                 LogFenced, LogBuried, LogBlob, LogLost, GhostSettled, GhostGranted, Digest, Healed, Closed>;

struct Event {
  Time at;
  What what;
};

using History = std::vector<Event>;

}  // namespace tenure::sim

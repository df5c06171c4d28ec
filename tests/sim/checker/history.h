#pragma once

// The events of a run as seen from outside, with true times. The checker reads nothing else. It has what users, their
// handlers and an onlooker at the log saw, and nothing about how the pool did it.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "assign/ranked.h"
#include "base/result.h"
#include "sim/world/dice.h"

namespace tenure::sim {

using ProcessNumber = std::uint32_t;

// How the names of ranked workers end. Each node has one of them, beside its others.
constexpr const char* kRankedWorker = ".p";
// Keys that nobody asks for: the pool makes them.
inline bool is_partition(const std::string& key) { return key.starts_with("partition/"); }
constexpr ProcessNumber kOnlooker = UINT32_MAX;  // the observer at the log, where a process is to be named

// Processes.
struct ProcessCrashed {
  ProcessNumber process;
};
// Just before: the handler of this tenure brings its process down.
struct HandlerCrashed {
  ProcessNumber process;
  std::string key;
  std::uint64_t epoch;
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

// The pool has taken the process' worker.
struct WorkerReady {
  ProcessNumber process;
  std::string worker;
};
// The process says that its worker serves a key from here on, or no more.
struct Serves {
  ProcessNumber process;
  std::string worker;
  std::string key;
  bool serves;
};
// A worker of the process takes only these jobs: "task", "resident:a", …; none: every job.
struct WorkerTakes {
  ProcessNumber process;
  std::string worker;
  std::vector<std::string> takes;
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
  std::string worker = {};
  std::uint32_t of = 0;  // of a partition: how many there are
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

// A worker of the process holds partitions, with this ordinal.
struct WorkerRanked {
  ProcessNumber process;
  std::string worker;
  std::uint32_t ordinal;
};

// Clients.
enum class Ask : std::uint8_t { resident, task, notify, stop, retry_dead, drop_dead, emit };
enum class Step : std::uint8_t { accepted, refused, started, done, failed, stopped };
struct Asked {
  ProcessNumber process;
  std::uint64_t ticket;
  Ask ask;
  std::string key;
  bool delayed = false;  // not before some time: it may be overtaken
  std::uint64_t of = 0;  // for retry_dead and drop_dead: the ticket of the buried job
  std::string type = {};
  Time delay = 0;           // if delayed
  std::uint64_t tasks = 0;  // of an emit
  // Of a task that a resident emits: nobody waits for it.
  std::string source = {};
  std::uint64_t event = 0;
  std::uint32_t index = 0;
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
  Errc code;          // only if refused
  bool typed = true;  // the pool knew of types
};
struct LogGranted {
  std::uint64_t position;
  std::string key;
  std::uint64_t epoch;
  std::uint64_t ticket;
  bool first;  // the job was never held before
  std::uint64_t session = 0;
  std::string worker = {};
};
// The worker's starts keep failing; and: it is fit again, or gone.
struct LogUnfit {
  std::uint64_t position;
  std::string worker;
};
struct LogFit {
  std::uint64_t position;
  std::string worker;
};
enum class HowEnded : std::uint8_t { handoff, stopped, done, failed, lost };
struct LogEnded {
  std::uint64_t position;
  std::string key;
  std::uint64_t epoch;
  HowEnded how = HowEnded::handoff;
  bool died = false;  // with its holder
};
// The holder was told that its start takes too long.
struct LogTimedOut {
  std::uint64_t position;
  std::string key;
  std::uint64_t epoch;
};
// The word of a guard on the process that had the session: the tenures whose handlers brought it down.
struct LogCulprits {
  std::uint64_t position;
  std::uint64_t session;
  std::vector<std::uint64_t> epochs;
};
// A task waits for a worker whose window is full, while this one, which helps and takes it, has room.
struct LogLeftWaiting {
  std::uint64_t position;
  std::string key;
  std::string helper;
};
// A session was declared dead, or gave itself up.
struct LogFenced {
  std::uint64_t position;
  std::uint64_t session;
};
struct LogBuried {
  std::uint64_t position;
  std::uint64_t ticket;
  bool quarantined = false;
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
// Tasks of a source were taken in, and with them its position. They were accepted just before.
struct LogEmitted {
  std::uint64_t position;
  std::string source;
  std::string key;
  std::uint64_t epoch;
  std::uint64_t before;
  std::uint64_t to;
  std::uint64_t lost = 0;
};
// What a member remembers of a source is back.
struct LogSourceRestored {
  std::uint64_t position;
  std::string source;
  std::uint64_t reached;
};
// The pool was shut down; nothing is left to do in it.
struct LogShutdown {
  std::uint64_t position;
};
struct LogDrained {
  std::uint64_t position;
};
// The log is removed for good, which is a loss of all of it. What follows belongs to another pool.
struct LogRemoved {
  bool ended;  // its pool had ended
};
// A node has joined; it remembers a log that was lost, or does not.
struct LogJoined {
  std::uint64_t position;
  std::uint64_t session;
  bool remembers;
};
// A member begins to put back what it remembers: up to the position `known`, in the log as it was after so many losses;
// or in a ghost, of which it is not said what became of it. Then the jobs that are back, and the end.
struct LogRestoring {
  std::uint64_t position;
  std::size_t losses;
  std::uint64_t known;
  bool ghost;
};
struct LogRestored {
  std::uint64_t position;
  std::string key;
  std::uint64_t ticket;
  bool dead = false;  // it was buried
};
struct LogRestoreEnded {
  std::uint64_t position;
};
// A member has noticed that the log lost what it had read.
struct NoticedLoss {
  ProcessNumber process;
  std::uint64_t session;
};
// Everything after `kept` is gone from the log, even if somebody had read it.
struct LogLost {
  std::uint64_t kept;
  bool replaced = false;  // by a new log, while nodes that know the old one continue in it
  bool wiped = false;     // with everything else that the server had
  bool removed = false;   // on purpose
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

// The pool has these partitions from here on. Of their jobs the log's other events name ticket 0.
struct LogRing {
  std::uint64_t position;
  Ring ring;
};
// A ranked worker is in the pool and gets keys, or does not.
struct LogRanked {
  std::uint64_t position;
  std::string worker;
  bool open;
};
// Its holder was asked to hand it over.
struct LogPartitionMoves {
  std::uint64_t position;
  std::string key;
  std::uint64_t backlog;  // of the partition, with all of its parts
};
// It is quarantined.
struct LogPartitionDead {
  std::uint64_t position;
  std::string key;
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
                 Wrote, Delivered, Asked, Answered, TicketLost, LogSettled, LogGranted, LogUnfit, LogFit, LogEnded,
                 LogTimedOut, LogFenced, LogLeftWaiting, LogBuried, LogBlob, LogShutdown, LogJoined, LogRestoring,
                 LogRestored, LogRestoreEnded, NoticedLoss, LogLost, GhostSettled, GhostGranted, Digest, Healed, Closed,
                 WorkerTakes, HandlerCrashed, LogCulprits, WorkerReady, Serves, LogDrained, LogRemoved, LogEmitted,
                 LogSourceRestored, WorkerRanked, LogRing, LogRanked, LogPartitionDead, LogPartitionMoves>;

struct Event {
  Time at;
  What what;
};

using History = std::vector<Event>;

}  // namespace tenure::sim

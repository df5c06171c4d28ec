#pragma once

// What runs the users' handlers, as a node sees it. The library's hosts run them in threads and in child processes;
// the simulator's host only pretends.

#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "base/clock.h"
#include "machine/effects.h"

namespace tenure {

// A tenure that this node holds. The epoch alone names it: no two tenures share one.
struct Hold {
  Bytes key;
  std::uint64_t epoch = 0;
};

struct HeldJob {
  Hold hold;
  std::uint64_t session = 0;
  Bytes worker;
  JobKind kind = JobKind::resident;
  std::uint32_t attempt = 1;
  Bytes payload;
  bool has_checkpoint = false;
  Bytes checkpoint;
};

// A host reports to the node's HoldReports (below). For every start() it reports, in the end, exactly one of
// finished(), failed() and released(): also after a fence, and also if the handler had to be killed.
//
// All calls come from the node's loop and must not block, except the last four: those come from the heart's loop, at
// any time, and must take effect even if the node's loop and every handler are stuck. (fence() may come from either.)
class Host {
 public:
  virtual ~Host() = default;

  virtual void start(HeldJob job) = 0;
  // Asks the job to stop by the deadline. A stop of one that has ended already is ignored.
  virtual void stop(const Hold& hold, StopReason reason, Instant deadline) = 0;
  virtual void message(const Hold& hold, std::uint64_t number, BytesView text) = 0;
  // Gives back, as released, what has been handed over under the session and was not begun.
  virtual void give_back_waiting(std::uint64_t /*session*/) {}

  // The session's lease is sure up to this moment. The first call comes before the session's first start.
  virtual void lease_until(std::uint64_t /*session*/, Instant /*until*/) {}
  // Nothing of the session runs, and nothing of it will be started.
  virtual void lease_over(std::uint64_t /*session*/) {}
  // The session's lease is about to run out: trip the stop token of every job of that session now, and of every
  // one that is still handed over under it.
  virtual void fence(std::uint64_t session) = 0;
  // The lease has run out: whatever still runs under the session must be ended before this returns, the process
  // itself if need be.
  virtual void kill(std::uint64_t session) = 0;
};

// What a host reports, from any thread.
class HoldReports {
 public:
  virtual ~HoldReports() = default;

  enum class Next : std::uint8_t { retry, requeue, bury, drop };

  virtual void started(const Hold& hold) = 0;
  virtual void finished(const Hold& hold, Bytes result) = 0;
  virtual void failed(const Hold& hold, Next next, Bytes error, Nanos delay) = 0;
  virtual void released(const Hold& hold) = 0;
  virtual void released(const Hold& hold, Bytes blob) = 0;
  virtual void checkpoint(const Hold& hold, Bytes data) = 0;
  virtual void handled(const Hold& hold, std::uint64_t message_number) = 0;

  // What is reported within the call goes to the node in one piece, and so most likely into the log. Short: meanwhile
  // the reports of others wait too.
  virtual void together(const std::function<void()>& reports) { reports(); }
};

}  // namespace tenure

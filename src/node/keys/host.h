#pragma once

// Runs the users' handlers for a node. The library's hosts run them in threads and in child processes. The simulator's
// host only pretends.

#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "base/clock.h"
#include "machine/effects.h"
#include "node/lease_holder.h"

namespace tenure {

// A tenure that this node holds. The epoch identifies it: no two tenures have the same.
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
  Bytes type{};
  Bytes payload{};
  std::optional<Bytes> checkpoint{};  // the last one of earlier holders
};

// A host reports to the node's HoldReports (below). For every start() it finally reports exactly one of finished(),
// failed() and released(), also after a fence, and also if the handler had to be killed.
//
// The functions below are called from the node's loop and must not block. The heart calls those of LeaseHolder.
class Host : public LeaseHolder {
 public:
  virtual void start(HeldJob job) = 0;
  // Asks the job to stop by the deadline. Ignored if the job has ended.
  virtual void stop(const Hold& hold, StopReason reason, Instant deadline) = 0;
  virtual void message(const Hold& hold, std::uint64_t number, BytesView text) = 0;
  // Releases the session's jobs that were passed to the host and have not begun.
  virtual void give_back_waiting(std::uint64_t /*session*/) {}
};

// The reports of a host, from any thread.
class HoldReports {
 public:
  virtual ~HoldReports() = default;

  // As v1::Failed::Next has them.
  enum class Next : std::uint8_t { retry, requeue, bury, drop, refuse };

  virtual void started(const Hold& hold) = 0;
  // The same of a resident that may end at once, because the host knows no more than that it was begun.
  virtual void begun(const Hold& hold) { started(hold); }
  virtual void finished(const Hold& hold, Bytes result) = 0;
  virtual void failed(const Hold& hold, Next next, Bytes error, Nanos delay) = 0;
  virtual void released(const Hold& hold) = 0;
  virtual void released(const Hold& hold, Bytes blob) = 0;
  virtual void checkpoint(const Hold& hold, Bytes data) = 0;
  virtual void handled(const Hold& hold, std::uint64_t message_number) = 0;
  // Instead: the handler takes no messages, or failed with this one. Its sender hears the error.
  virtual void message_failed(const Hold& hold, std::uint64_t message_number, Bytes error) = 0;

  // Reports made within the call go to the node together, and so usually into one batch. Must be short, because others'
  // reports wait meanwhile.
  virtual void together(const std::function<void()>& reports) { reports(); }
};

}  // namespace tenure

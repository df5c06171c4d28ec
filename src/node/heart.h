#pragma once

// Keeps a session alive, and ends it in time. The heart appends beats, in a separate lane, and counts the lease from
// the moment at which the last confirmed beat was first sent. If no newer beat is confirmed in time, it fences: first
// the handlers' stop tokens, then, at the deadline, everything that still runs.
//
//     sent(b)                                soft             until             sent(b) + lease
//       ├──────────── lease is sure ───────────┼── stop tokens ──┼──── margin ────┤
//                                              fence()           kill()           others may hold the keys
//
// The margin covers the drift between two monotonic clocks over one lease. In production the heart has its own loop and
// thread, so that a stuck node or handler cannot delay it.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>

#include "base/clock.h"
#include "base/entropy.h"
#include "base/loop.h"
#include "log/log.h"
#include "machine/rules.h"
#include "node/lease_holder.h"
#include "node/token.h"

namespace tenure {

struct LeaseTimes {
  Nanos lease{};
  Nanos beat{};    // a fifth of the lease, so that one lost beat is not death
  Nanos margin{};  // a twentieth, at least kMarginMin
  Nanos grace{};   // from the stop tokens to the kill: a tenth

  static LeaseTimes of(Nanos lease);
};

class HeartEvents {
 public:
  virtual ~HeartEvents() = default;
  // On the heart's loop. The deadline has moved.
  virtual void lease_until(std::uint64_t /*session*/, Instant /*until*/) {}
  // On the heart's loop. The lease is about to run out. Its holder has been fenced.
  virtual void lease_lost(std::uint64_t session) = 0;
};

// Belongs to the heart's loop, except until().
class Heart {
 public:
  Heart(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, LeaseHolder* holder, HeartEvents& events);

  // The session's join was sent.
  void begin(std::uint64_t session, Nanos lease, std::uint32_t speaks = kMachineVersion);
  // The join has come back through the log. It gives no lease, since only a beat proves the log (log.h): a node that
  // was frozen between opening the log and joining may have joined a log that was replaced meanwhile. So beats at once.
  void joined(std::uint64_t session);
  // This beat of the session has come back through the log.
  void confirmed(std::uint64_t session, std::uint64_t number);
  // A deliberate bug, for the simulator.
  void confirm_newest(std::uint64_t session) { confirmed(session, number_); }
  void note_digest(Position position, std::uint64_t digest);
  // The node has applied the log up to here. Beats report it. Any thread.
  void note_read(Position position) { read_.store(position, std::memory_order_relaxed); }
  // Beats now, for a node that must know whether it is in touch with the log.
  void beat_now();
  // The session is over: no more beats and no fencing.
  void end(std::uint64_t session);

  // The lease is valid until this moment, in nanoseconds since boot. Zero if there is none. Any thread.
  std::int64_t until() const { return until_.load(std::memory_order_acquire); }

 private:
  struct Sent {
    std::uint64_t number;
    Instant at;
  };

  void beat();
  void arm();
  void fence();

  Log& log_;
  Loop& loop_;
  const Clock& clock_;
  Entropy& entropy_;
  LeaseHolder* holder_;  // null: no handlers
  HeartEvents& events_;

  std::uint64_t session_ = 0;
  std::uint32_t speaks_ = 0;  // the newest machine version that the node supports
  std::uint64_t sender_ = 0;
  std::uint64_t sequence_ = 0;
  LeaseTimes times_;
  std::uint64_t number_ = 0;
  std::deque<Sent> sent_;  // not confirmed, oldest first; bounded
  Position digest_position_ = 0;
  std::uint64_t digest_ = 0;
  std::atomic<Position> read_ = 0;
  bool fenced_ = false;
  std::atomic<std::int64_t> until_{0};
  Timer beat_timer_;
  Timer watchdog_;
  Token token_;
};

}  // namespace tenure

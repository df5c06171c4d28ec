#pragma once

// Judges whether other sessions are dead. A session expires only a whole lease after this node received its last beat.
// The time is measured by this node's own clock, and counts only while this node was itself in touch with the log: its
// own beats came back. So an outage of the log, or a pause of this process, kills nobody.
//
// The eldest node claims first; each other node waits a little longer. A claim that comes too late has no effect in the
// machine.
//
// If a death is detected (known_death.h), nobody waits for the lease. The order of claims stays the same.

#include <cstdint>
#include <functional>
#include <map>

#include "base/clock.h"
#include "base/loop.h"
#include "log/log.h"
#include "machine/sessions/session_table.h"

namespace tenure {

class ObserverEvents {
 public:
  virtual ~ObserverEvents() = default;
  // A lease has passed since the beat at that position: the session should be declared expired.
  virtual void suspect(std::uint64_t session, Position last_beat) = 0;
  // The session's process is gone, and it is this node's turn to report it.
  virtual void gone(std::uint64_t session) = 0;
  // A lease will have passed if this node is still in touch. A beat of its own would show it.
  virtual void touch_wanted() = 0;
};

// Belongs to the node's loop.
class Observer {
 public:
  // `sessions` returns the pool's, as of the last entry.
  using Sessions = std::function<const SessionTable&()>;
  Observer(Loop& loop, Sessions sessions, ObserverEvents& events);

  // This node's own session, and its lease. Zero while it has none; then it judges nobody.
  void set_own(std::uint64_t session, Nanos lease);
  // A beat of this session, or its join, was applied.
  void heard(std::uint64_t session, Position at);
  // A beat of this node's own session has come back.
  void in_touch();
  void forget(std::uint64_t session);
  // The session's process is known to be gone. Remembered while this node has no session itself.
  void known_dead(std::uint64_t session);
  // For how long nothing was heard of the session (which may be this node's own), while this node was in touch.
  Nanos silence(std::uint64_t session) const;
  // After a reload: every session counts as heard of now.
  void reset();

 private:
  struct Heard {
    Position at = 0;
    Nanos touch{};  // the touch clock at the last beat
    bool claimed = false;
  };

  Nanos touch_clock() const;  // assumes that the time since the last own beat will count
  Nanos patience(std::uint64_t session) const;
  std::size_t elders(std::uint64_t session) const;
  void speak_of_dead();
  void count_from_now();
  void judge();
  void arm();

  const SessionTable& sessions() const { return sessions_(); }

  Loop& loop_;
  const Sessions sessions_;
  ObserverEvents& events_;
  std::uint64_t own_ = 0;
  Nanos own_lease_{};
  Nanos touch_{};  // the time in touch, up to last_touch_
  Instant last_touch_;
  Instant asked_;  // when a beat was last requested
  std::map<std::uint64_t, Heard> heard_;
  std::map<std::uint64_t, Instant> dead_;  // when this node learned of the death
  Timer timer_;
  Timer dead_timer_;
};

}  // namespace tenure

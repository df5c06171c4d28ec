#pragma once

// Judges whether other sessions are dead. A session may be declared expired only a whole lease after this node
// received its last beat, by this node's own clock, and counting only time in which this node was itself in touch
// with the log: its own beats came back. So an outage of the log, or a pause of this process, kills nobody.
//
// The eldest speaks first; each other waits a little longer. A claim that comes too late is void in the machine.
//
// Where a death is known rather than suspected (known_death.h), no lease is waited for; the order of speaking stays.

#include <cstdint>
#include <functional>
#include <map>

#include "base/clock.h"
#include "base/loop.h"
#include "log/log.h"
#include "node/replica.h"

namespace tenure {

class ObserverEvents {
 public:
  virtual ~ObserverEvents() = default;
  // A lease has passed since the beat at that position: the session is to be declared expired.
  virtual void suspect(std::uint64_t session, Position last_beat) = 0;
  // The session's process is gone, and it is this node's turn to say so.
  virtual void gone(std::uint64_t session) = 0;
  // A lease will have passed if this node is still in touch: a beat of its own would tell.
  virtual void touch_wanted() = 0;
};

// Belongs to the node's loop.
class Observer {
 public:
  Observer(Loop& loop, const Replica& replica, ObserverEvents& events);

  // This node's own session, and its lease; zero while it has none, and then it judges nobody.
  void set_own(std::uint64_t session, Nanos lease);
  // A beat of this session, or its join, has been applied.
  void heard(std::uint64_t session, Position at);
  // A beat of the own session has come back.
  void in_touch();
  void forget(std::uint64_t session);
  // The session's process is known to be gone. Remembered while this node has no session of its own.
  void known_dead(std::uint64_t session);
  // For how long nothing was heard of the session, be it this node's own, while this node was in touch.
  Nanos silence(std::uint64_t session) const;
  // After a reload: every session counts as heard now.
  void reset();

 private:
  struct Heard {
    Position at = 0;
    Nanos touch{};  // the touch clock when it was heard
    bool claimed = false;
  };

  Nanos touch_clock() const;  // as if the time since the last own beat will turn out to count
  Nanos patience(std::uint64_t session) const;
  std::size_t elders(std::uint64_t session) const;
  void speak_of_dead();
  void count_from_now();
  void judge();
  void arm();

  const SessionTable& sessions() const { return replica_.machine().sessions(); }

  Loop& loop_;
  const Replica& replica_;
  ObserverEvents& events_;
  std::uint64_t own_ = 0;
  Nanos own_lease_{};
  Nanos touch_{};  // the time in touch, up to last_touch_
  Instant last_touch_;
  Instant asked_;  // when a beat was last wanted
  std::map<std::uint64_t, Heard> heard_;
  std::map<std::uint64_t, Instant> dead_;  // since when it is this node's to know
  Timer timer_;
  Timer dead_timer_;
};

}  // namespace tenure

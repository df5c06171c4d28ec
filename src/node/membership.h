#pragma once

// A node's membership in its pool: it joins under a session, keeps the session alive, watches the sessions of others,
// and leaves; or it is fenced and joins again under another session.
//
//   outside ─▶ joining ─▶ member ─▶ leaving ─▶ outside
//                 └─────────┴──────────┴─▶ fenced ─▶ outside, once nothing of the session runs
//
// Belongs to the node's loop.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "machine/state_machine.h"
#include "node/appender.h"
#include "node/digest_comparison.h"
#include "node/heart_line.h"
#include "node/keys/keys_part.h"
#include "node/node_options.h"
#include "node/observer.h"
#include "node/remembered.h"
#include "node/replica.h"
#include "node/token.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

class MembershipEvents {
 public:
  virtual ~MembershipEvents() = default;
  // The session is being fenced. Records that were sent under it may be lost.
  virtual void fencing() = 0;
  // Nothing of the session runs any more, after a fence.
  virtual void stopped(std::uint64_t session, FenceReason reason) = 0;
  // The session has ended normally, as this node wanted.
  virtual void left() = 0;
  // The join was acknowledged, but the pool refuses this node, or is gone.
  virtual void not_taken() = 0;
};

class Membership final : public SessionEffects, private ObserverEvents {
 public:
  // `keys` is null for a node without a host, which never joins.
  Membership(const NodeWorld& world, const NodeOptions& options, Appender& appender, Replica& replica, KeysPart* keys,
             NodeEvents& listener, MembershipEvents& events);
  ~Membership() override;
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  bool outside() const { return phase_ == Phase::outside; }
  bool joining() const { return phase_ == Phase::joining; }
  bool member() const { return phase_ == Phase::member; }
  bool fenced() const { return phase_ == Phase::fenced; }
  // True if the node has a session that it did not give up.
  bool alive() const { return joining() || member() || phase_ == Phase::leaving; }
  std::uint64_t session() const { return session_; }  // the current one, or the last
  std::int64_t lease_until() const { return heart_.until(); }
  const Observer& observer() const { return observer_; }
  // How many members are older, as of the last entry. Nothing if this node is not a member.
  std::optional<std::size_t> rank() const { return member() ? rank_ : std::nullopt; }

  // `remembered`: of a log that was lost.
  void join(const Remembered& remembered);
  // Does nothing if there is no session to fence.
  void fence(FenceReason reason);
  // Writes to the log that nothing of the session runs any more, so that the others need not wait for its lease.
  void write_end(std::uint64_t session, v1::End::Reason reason);
  // The node is finished: its session has ended, or its lease will run out.
  void stop();
  // After a fence or a refused join: another session may begin.
  void give_up_session() { phase_ = Phase::outside; }

  // The state was replaced.
  void reloaded();
  // The log is being read to its end. Ignore the deaths of sessions that came and went meanwhile.
  void loading() { caught_up_ = false; }
  // The state is at the log's end. Ends former sessions of this node that are still there, and watches the others.
  void reached_end();
  // Call these after each entry, in this order. Beats report how far this node has read.
  void note_read();
  // The position at which the state differs from the others' state, once. Zero if it does not.
  Position take_divergence() { return std::exchange(diverged_, 0); }
  void note_applied();
  // False if the join was lost or refused. The owner has been told.
  bool check_join();
  // If the node is closing, or removes workers: hands over and leaves, step by step.
  void check_leaving();

  void joined(const At& at, std::uint64_t session) override;
  void beat_seen(const At& at, const SeenBeat& beat) override;
  void session_ended(const At& at, std::uint64_t session, SessionEnd how) override;

 private:
  enum class Phase : std::uint8_t { outside, joining, member, leaving, fenced };

  // True if the node lives under this session. When the log is replayed, sessions that it gave up appear again.
  bool living(std::uint64_t session) const { return session == session_ && alive(); }
  const StateMachine& machine() const { return replica_.machine(); }
  HeartLine::NodeSide heart_callbacks();
  void join_sent(std::uint64_t session);
  void join_appended(std::uint64_t session, Position position);
  void lease_armed(std::uint64_t session);
  void leave();
  void update_rank();
  void compare(const SeenBeat& beat);

  // ObserverEvents.
  void suspect(std::uint64_t session, Position last_beat) override;
  void gone(std::uint64_t session) override;
  void touch_wanted() override;

  Token token_;  // first: it guards the callbacks of the others
  const NodeWorld& world_;
  const NodeOptions& options_;
  Appender& appender_;
  Replica& replica_;
  KeysPart* const keys_;
  NodeEvents& listener_;
  MembershipEvents& events_;
  KnownDeath& known_death_;
  HeartLine heart_;
  Observer observer_;
  DigestComparison digests_;

  Phase phase_ = Phase::outside;
  std::uint64_t session_ = 0;
  std::deque<std::uint64_t> former_;       // sessions of this node, the current one last
  bool seen_join_ = false;                 // the session's join was applied
  std::optional<Position> join_position_;  // its position, once known
  int joins_missed_ = 0;                   // in a row
  bool caught_up_ = false;
  bool roster_changed_ = true;
  std::optional<std::size_t> rank_;
  Position diverged_ = 0;  // where this node's state differs from another's digest
  bool digest_due_ = false;
  std::uint64_t epoch_seen_ = 0;
  std::uint64_t own_beats_ = 0;
  std::uint64_t bytes_said_ = 0;  // bytes applied when the last beat was requested
};

}  // namespace tenure

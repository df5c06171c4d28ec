#pragma once

// A process's part in a pool. It follows the log. If it has workers, it is a member of the pool and holds keys. It is
// driven only through its loops, clock, log and host, so that the simulator can run it unchanged.
//
//   loading ─▶ following ─▶ over
//      ▲           │  membership.h: outside, joining, member, leaving, fenced
//      └───────────┘  history was lost
//
// A node without workers is not a member: it reads, dispatches and waits.
//
// The node puts its parts together: the replica and the appender (the log), the tickets, the membership, the keys of
// its workers, and the steward. The machine's effects reach each of them through an EffectsTee.
//
// Everything belongs to the node's loop, except NodeEvents::lease_until().

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "node/appender.h"
#include "node/farewell.h"
#include "node/healer.h"
#include "node/keys/keys_part.h"
#include "node/membership.h"
#include "node/node_events.h"
#include "node/node_options.h"
#include "node/replica.h"
#include "node/request.h"
#include "node/steward/steward.h"
#include "node/tickets.h"

namespace tenure {

class Node final : private ReplicaEvents,
                   private AppenderEvents,
                   private MembershipEvents,
                   private HealerEvents,
                   private PoolEffects {
 public:
  Node(const NodeWorld& world, NodeOptions options, NodeEvents& events);
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Call it before start(). The listener gets all effects of the machine, before the node acts on them.
  void listen(Effects& listener) { effects_.add(listener); }
  // The same for a listener that also wants to read the state after each entry.
  void listen(PoolWatcher& watcher);
  void start();

  // After a fence, workers are added again under a new session. Removing a worker hands over its keys.
  void add_worker(NodeWorker worker);
  void remove_worker(BytesView id);
  void serve(BytesView worker, std::vector<Bytes> add, std::vector<Bytes> remove);

  // Returns a ticket; NodeEvents::settled reports its outcome. Fails at once if a bound is exceeded (Errc::invalid), or
  // if too much is waiting to be sent (Errc::busy).
  Result<std::uint64_t> ask(const Request& request);
  // The same for an encoded request. Its outcome is also reported to `ticket`.
  Status send(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket);
  // The same for several requests. Takes all of them or none.
  Status send(SealedRequests& requests);
  // False: requests are refused as busy now. NodeEvents::room_for_requests() tells when there is room.
  bool has_room() { return appender_.has_room(); }
  // How many of all tickets were answered or given up.
  std::uint64_t answered() const { return tickets_.answered(); }
  // Answers all tickets with the error, because nobody will wait.
  void give_up_tickets(const Error& error) { tickets_.give_up_all(error); }

  void drain(BytesView worker);
  // Ends the whole pool.
  void shut_down();
  // The same, and sees the pool to its end even if no member does. Then it calls pool_gone() and closed().
  void shut_down_and_see();
  // The pool is about to end, perhaps by others. If the log is gone, that is its end, even if the record of the end was
  // not read.
  void expect_end() { expects_end_ = sees_end_ = true; }
  // From now on the node leaves a pool that was shut down, when everything is done.
  void leave_at_shutdown();
  // The process of this node's handlers has died, and they with it. Ends the session and begins another one.
  void host_lost() { membership_.fence(FenceReason::host_lost); }
  // For the end of a pool without members. Does nothing if another process removes the log. `done` is called on the
  // loop.
  void remove_log(std::function<void()> done);
  // Hands over the node's keys, leaves, and calls closed(). Jobs have the pool's worker_shutdown_ttl.
  void close();

  HoldReports& reports() { return keys_->reports(); }  // only with a host
  const Machine& machine() const { return replica_.machine(); }
  // Which sessions were heard of, and when.
  const Observer& observer() const { return membership_.observer(); }
  bool member() const { return membership_.member(); }
  std::uint64_t session() const { return membership_.session(); }
  // The lease is valid until then, in nanoseconds since boot. Any thread.
  std::int64_t lease_until() const { return membership_.lease_until(); }

 private:
  enum class Phase : std::uint8_t { loading, following, over };

  void load(IfGone if_gone);
  IfGone if_gone() const;
  void seek_end();
  void mark_end();
  void forget_end();
  void reach_end();
  void start_over();
  void join_or_finish();
  void see_off();
  void seen_off();
  void remove_and_load();
  void try_to_remove(const std::function<void()>& done, std::uint64_t histories, int tries);
  bool handled_divergence();
  void say_options();
  void compare_options();
  void finish();
  void break_down(const Error& error);
  bool has_workers() const { return keys_ && !keys_->workers().empty(); }
  // Its own session, if the state has it.
  std::uint64_t living_session() const;
  bool leaves_now() const { return machine().drained() && options_.leaves_at_shutdown; }

  // ReplicaEvents.
  void applied() override;
  void reloaded() override;
  void history_lost() override;
  void log_gone() override;
  void broken(const Error& error) override;
  void snapshot_stored(Position position) override;
  void read_delayed(const Error& error) override { delayed(reads_delayed_, error); }
  void read_resumed() override { resumed(reads_delayed_); }

  // AppenderEvents.
  void append_gave_up() override;
  void append_refused(const Error& error) override;
  void append_delayed(const Error& error) override { delayed(appends_delayed_, error); }
  void append_resumed() override { resumed(appends_delayed_); }
  void append_has_room() override { events_.room_for_requests(); }

  // MembershipEvents.
  void fencing() override { steward_.reset(); }
  void stopped(std::uint64_t session, FenceReason reason) override;
  void left() override;
  void not_taken() override;

  // PoolEffects.
  void saved(const At& /*at*/, std::uint64_t position) override { replica_.note_saved(position); }
  void shutdown_drained(const At& at) override;
  void pool_gone(const At& at) override;
  void restoring(const At& /*at*/, const Restored& it) override { events_.restoring(it); }
  void restored(const At& /*at*/, const Restored& it) override { events_.restored(it); }

  // HealerEvents.
  void not_restored(std::string_view why) override { events_.not_restored(why); }

  void delayed(bool& what, const Error& error);
  void resumed(bool& what);

  Token token_;  // first: it guards the callbacks of the others
  NodeWorld world_;
  NodeOptions options_;
  NodeEvents& events_;
  EffectsTee effects_;
  std::vector<PoolWatcher*> watchers_;
  Appender appender_;
  ReplicaOf<Machine> replica_;
  Tickets tickets_;
  std::unique_ptr<KeysPart> keys_;  // null without a host
  Membership membership_;
  Steward steward_;
  Farewell farewell_;
  Timer removal_;
  Timer mark_again_;
  Healer healer_;

  Phase phase_ = Phase::loading;
  // While loading: the position of the mark at the log's end, once it is known.
  std::optional<Position> end_position_;
  std::uint64_t seek_ = 0;        // counts the looks for the end; answers to older ones are ignored
  std::optional<Error> failure_;  // why the node stops for good
  int divergences_ = 0;
  bool options_said_ = false;
  bool options_compared_ = false;
  bool reload_due_ = false;  // history was lost while the session was being fenced
  bool expects_end_ = false;
  bool closing_ = false;
  bool starting_over_ = false;  // the log of a pool that is gone is to be removed, and the next one loaded
  bool sees_end_ = false;       // it orders the shutdown
  bool seen_off_due_ = false;   // nothing is left to wait for but the other shards
  bool ended_pool_ = false;     // the pool is gone, and its log is to be removed
  bool appends_delayed_ = false;
  bool reads_delayed_ = false;
  std::uint64_t histories_ = 0;  // how often history was lost
};

}  // namespace tenure

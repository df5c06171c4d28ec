#pragma once

// A process's part in a pool: it follows the log, and, if it has workers, is a member of the pool and holds keys.
// It is driven through its loops, clock, log and host alone, so that the simulator can run it unchanged.
//
//   loading ─▶ following ─▶ over
//      ▲           │  membership.h: outside, joining, member, leaving, fenced
//      └───────────┘  history was lost
//
// A node without workers stays outside the roster: it reads, dispatches and waits.
//
// The node puts its parts together: the replica and the appender (the log), the tickets, the membership, the keys of
// its workers, and the steward. What the machine says reaches each of them through an EffectsTee.
//
// Everything belongs to the node's loop, except NodeEvents::lease_until().

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "node/appender.h"
#include "node/keys/keys_part.h"
#include "node/membership.h"
#include "node/node_events.h"
#include "node/node_options.h"
#include "node/replica.h"
#include "node/request.h"
#include "node/steward/steward.h"
#include "node/tickets.h"

namespace tenure {

class Node final : private ReplicaEvents, private AppenderEvents, private MembershipEvents, private PoolEffects {
 public:
  Node(const NodeWorld& world, NodeOptions options, NodeEvents& events);
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Before start(). The listener hears everything that the machine says, before the node acts on it.
  void listen(Effects& listener) { effects_.add(listener); }
  // The same for one who also wants to read the state after each entry.
  void listen(PoolWatcher& watcher);
  void start();

  // Workers are added again under a new session after a fence. Removing hands over what the worker holds.
  void add_worker(NodeWorker worker);
  void remove_worker(BytesView id);
  void serve(BytesView worker, std::vector<Bytes> add, std::vector<Bytes> remove);

  // Gives a ticket, whose fate NodeEvents::settled tells. Refused at once: what is over a bound (Errc::invalid), and
  // what finds the way to the log full (Errc::busy).
  Result<std::uint64_t> ask(const Request& request);
  // The same for a request that comes sealed: `ticket` is told, too.
  Status send(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket);
  // The same for several: all of them are taken, or none.
  Status send(SealedRequests& requests);
  // False: what is sent now is refused as busy, and NodeEvents::room_for_requests() says when there is room.
  bool has_room() { return appender_.has_room(); }
  // How many of all tickets have been answered, or were given up.
  std::uint64_t answered() const { return tickets_.answered(); }
  // Nobody will wait any longer.
  void give_up_tickets(const Error& error) { tickets_.give_up_all(error); }

  void drain(BytesView worker);
  // Ends the whole pool.
  void shut_down();
  // The pool is about to be ended, perhaps by others: a log that is gone is its end, though the order to end was not
  // read.
  void expect_end() { expects_end_ = true; }
  // From here on the node leaves a pool that has been shut down, when everything is done.
  void leave_at_shutdown();
  // What ran this node's handlers has died, and they with it: the session is ended, and another one begun.
  void host_lost() { membership_.fence(FenceReason::host_lost); }
  // For the end of a pool that has no member to do it. Nothing where it is for another to do; `done` is called on the
  // loop.
  void remove_log(std::function<void()> done);
  // After finds_out_the_end(): the pool is still there.
  void reload();
  // Hands over what this node holds, leaves, and says closed(). The jobs have the pool's worker_shutdown_ttl for it.
  void close();

  HoldReports& reports() { return keys_->reports(); }  // only with a host
  const Machine& machine() const { return replica_.machine(); }
  // Who is heard of, and when.
  const Observer& observer() const { return membership_.observer(); }
  bool member() const { return membership_.member(); }
  std::uint64_t session() const { return membership_.session(); }
  // Nanoseconds since boot up to which the lease is sure. Any thread.
  std::int64_t lease_until() const { return membership_.lease_until(); }

 private:
  enum class Phase : std::uint8_t { loading, following, over };

  void load();
  void seek_end();
  void reach_end();
  void start_over();
  void join_or_finish();
  bool handled_divergence();
  void finish();
  void break_down(const Error& error);
  bool has_workers() const { return keys_ && !keys_->workers().empty(); }
  bool leaves_now() const { return machine().drained() && options_.leaves_at_shutdown; }

  // ReplicaEvents.
  void applied() override;
  void reloaded() override;
  void history_lost() override;
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
  void left() override { finish(); }
  void not_taken() override;

  // PoolEffects.
  void saved(const At& /*at*/, std::uint64_t position) override { replica_.note_saved(position); }
  void shutdown_drained(const At& at) override;
  void pool_gone(const At& at) override;

  void delayed(bool& what, const Error& error);
  void resumed(bool& what);

  Token token_;  // first: the others' callbacks are guarded by it
  NodeWorld world_;
  NodeOptions options_;
  NodeEvents& events_;
  EffectsTee effects_;
  std::vector<PoolWatcher*> watchers_;
  Appender appender_;
  Replica replica_;
  Tickets tickets_;
  std::unique_ptr<KeysPart> keys_;  // null without a host
  Membership membership_;
  Steward steward_;

  Phase phase_ = Phase::loading;
  std::optional<Position> end_position_;  // where the log's end was when it was last sought
  std::optional<Error> failure_;          // why the node is stopping for good
  int divergences_ = 0;
  bool reload_due_ = false;  // history was lost while the session was being fenced
  bool expects_end_ = false;
  bool finding_out_ = false;  // whether the pool has ended; nothing is read meanwhile
  bool closing_ = false;
  bool ended_pool_ = false;  // this node's leaving was the pool's end
  bool appends_delayed_ = false;
  bool reads_delayed_ = false;
  std::uint64_t histories_ = 0;  // how often history was lost
};

}  // namespace tenure

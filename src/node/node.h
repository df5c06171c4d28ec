#pragma once

// A process's part in a pool: it follows the log, and, if it has workers, is a member of the pool and holds keys.
// It is driven through its loops, clock, log and host alone, so that the simulator can run it unchanged.
//
//   loading ─▶ (joining ─▶ member ─▶ fenced ─▶ joining …) ─▶ closing ─▶ closed
//
// A node without workers and without a wish for any stays outside the roster: it reads, dispatches and waits.
//
// Everything belongs to the node's loop, except what HeartEvents says of the heart's.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/entropy.h"
#include "base/loop.h"
#include "log/log.h"
#include "node/appender.h"
#include "node/heart.h"
#include "node/keys/host.h"
#include "node/keys/runtime.h"
#include "node/known_death.h"
#include "node/observer.h"
#include "node/replica.h"
#include "node/request.h"
#include "node/steward.h"
#include "node/tickets.h"

namespace tenure {

struct NodeWorker {
  Bytes id;
  std::uint32_t weight = kWeightDefault;
  std::uint32_t window = kWindowDefault;
  Bytes replaces;
  std::vector<Bytes> serves;
};

struct NodeOptions {
  Bytes name;
  Bytes host;
  std::uint32_t pid = 0;
  Nanos lease = std::chrono::milliseconds(kWorkerTtlMsDefault);
  PoolConfig config;    // of a pool that this node creates
  ChooseWorker choose;  // for chosen assignment
  // For a pool of several logs, of which another one is to go last.
  bool leaves_at_shutdown = true;  // or once leave_at_shutdown() was called
  bool removes_log = true;         // when the pool has ended; otherwise somebody else does
  std::function<void(std::function<void()> then)> before_removal{};  // `then` is to be called, from any thread
  ReplicaOptions replica;
  std::uint32_t look_every = 64;  // see Runtime; fewer where it is to be tested
};

// Where everything a node touches comes from. All must outlive it.
struct NodeWorld {
  Log& log;
  Loop& loop;
  Loop& heart_loop;
  const Clock& clock;
  Entropy& entropy;
  Host* host;                         // null: the node has no workers
  KnownDeath* known_death = nullptr;  // null: only leases tell who is dead
};

enum class FenceReason : std::uint8_t {
  lease_lost,    // no beat was confirmed in time
  expired,       // others declared this session dead
  history_lost,  // the log lost what had been applied, or this node fell too far behind to tell
  diverged,      // the others' state differs from this node's
  broken,        // the log cannot be followed any more
  host_lost,     // what the handlers ran in is gone
};

// For people.
std::string_view to_string(FenceReason reason);

class NodeEvents : public TicketEvents {
 public:
  // The log has been read up to where it stood when the node was started.
  virtual void caught_up() {}
  virtual void joined(std::uint64_t /*session*/) {}
  virtual void worker_added(BytesView /*worker*/) {}
  virtual void worker_refused(BytesView /*worker*/, Errc) {}
  virtual void worker_removed(BytesView /*worker*/) {}
  virtual void fenced(std::uint64_t /*session*/, FenceReason) {}
  // Everything the machine says, for those who want to watch; called before the node itself acts on it.
  virtual Effects* watcher() { return nullptr; }
  virtual void applied(const Machine&) {}
  // On the heart's loop.
  virtual void lease_until(std::uint64_t /*session*/, Instant /*until*/) {}
  virtual void closed() {}
  // The log takes nothing now, or gives nothing; and it does again.
  virtual void log_delayed(const Error&) {}
  virtual void log_resumed() {}
  // Nothing fails yet, but people should know. On a thread of the engine's.
  virtual void log_warned(const Error&) {}
  // The node has stopped for good; nothing of it runs any more.
  virtual void broken(const Error&) {}
  virtual void pool_gone() {}
  // History was lost while the pool was ending, to one that only looks on: it may be the end. True: the listener finds
  // out, and calls close() or reload(). Otherwise the node reloads, and so makes a log that is gone anew.
  virtual bool finds_out_the_end() { return false; }
};

class Node final : private ReplicaEvents, private AppenderEvents, private ObserverEvents {
 public:
  Node(const NodeWorld& world, NodeOptions options, NodeEvents& events);
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void start();

  // Workers are added again under a new session after a fence. Removing hands over what the worker holds.
  void add_worker(NodeWorker options);
  void remove_worker(BytesView id);
  void serve(BytesView worker, std::vector<Bytes> add, std::vector<Bytes> remove);

  // Gives a ticket, whose fate NodeEvents::settled tells. Refused at once: what is over a bound (Errc::invalid), and
  // what finds the way to the log full (Errc::busy).
  Result<std::uint64_t> ask(const Request& request);
  // The same for a request that comes sealed: `ticket` is told, too.
  Status send(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket);
  // The same for several: all of them are taken, or none.
  Status send(SealedRequests& requests);
  // Tickets of which nothing has been heard yet.
  std::size_t unanswered() const { return tickets_.unanswered(); }
  // Nobody will wait any longer.
  void give_up_tickets(const Error& error) { tickets_.give_up_all(error); }

  void drain(BytesView worker);
  // Ends the whole pool.
  void shut_down();
  // The pool is about to be ended, be it by others: a log that is gone is its end, though the order to end was not
  // read.
  void expect_end() { expects_end_ = true; }
  // From here on the node leaves a pool that has been shut down, when everything is done.
  void leave_at_shutdown();
  // What ran this node's handlers has died, and they with it: the session is ended, and another one begun.
  void host_lost() { fence(FenceReason::host_lost); }
  // For the end of a pool that has no member to do it. Nothing where it is for another to do; `done` is called on the
  // loop.
  void remove_log(std::function<void()> done);
  // After finds_out_the_end(): the pool is still there.
  void reload();
  // Hands over what this node holds, leaves, and says closed(). The jobs have the pool's worker_shutdown_ttl for it.
  void close();

  HoldReports& reports() { return *runtime_; }  // only with a host
  const Machine& machine() const { return replica_.machine(); }
  // Who is heard of, and when.
  const Observer& observer() const { return observer_; }
  bool member() const { return phase_ == Phase::member; }
  std::uint64_t session() const { return session_; }
  // Nanoseconds since boot up to which the lease is sure. Any thread.
  std::int64_t lease_until() const;

 private:
  class HeartSide;
  enum class Phase : std::uint8_t { loading, outside, joining, member, fenced, leaving, over };

  struct OwnWorker {
    NodeWorker options;
    bool added = false;    // in the roster, under the present session
    bool refused = false;  // by the present session's pool, for good
    bool removing = false;
    bool removed = false;  // its RemoveWorker was offered
  };

  // Whether this is the session that the node lives under. One that it gave up comes again when the log is replayed.
  bool living(std::uint64_t session) const;

  // Joining and leaving.
  void seek_end();
  void reach_end();
  void start_over();
  void join();
  void check_join();
  void lease_armed(std::uint64_t session);
  void add_workers();
  void offer_worker(const OwnWorker& worker);
  void fence(FenceReason reason);
  void all_stopped(std::uint64_t session, FenceReason reason);
  void check_leaving();
  void leave();
  void offer_end(std::uint64_t session, int reason);
  void finish();
  void break_down(const Error& error);

  // ReplicaEvents.
  void granted(const At& at, const Grant& grant) override;
  void started(const At& at, const TenureRef& tenure) override;
  void stop_asked(const At& at, const TenureRef& tenure, StopReason reason) override;
  void message(const At& at, const TenureRef& tenure, std::uint64_t number, BytesView text) override;
  void ended(const At& at, const TenureRef& tenure, TenureEnd why) override;
  void buried(const At& at, BytesView key, std::uint64_t id, bool quarantined) override;
  void settled(const At& at, const Settlement& settlement) override;
  void answer_due(const At& at, const Settlement& settlement) override;
  void joined(const At& at, std::uint64_t session) override;
  void beat_seen(const At& at, const SeenBeat& beat) override;
  void session_ended(const At& at, std::uint64_t session, SessionEnd how) override;
  void worker_added(const At& at, std::uint64_t session, BytesView worker) override;
  void worker_refused(const At& at, std::uint64_t session, BytesView worker, Errc why) override;
  void worker_removed(const At& at, std::uint64_t session, BytesView worker) override;
  void choice_due(const At& at, BytesView key) override;
  void choices_due(const At& at) override;
  void saved(const At& at, std::uint64_t position) override;
  void asked(const At&, const v1::Ask& ask) override { steward_.asked(ask); }
  void shutdown_began(const At& at) override;
  void shutdown_drained(const At& at) override;
  void pool_gone(const At& at) override;
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

  // ObserverEvents.
  void suspect(std::uint64_t session, Position last_beat) override;
  void gone(std::uint64_t session) override;
  void touch_wanted() override;

  void say_read();
  void delayed(bool& what, const Error& error);
  void resumed(bool& what);
  void watch_all();
  void let_go(std::uint64_t session);
  void compare_digest(std::uint64_t session, Position position, std::uint64_t digest);
  void post_to_heart(std::function<void(Heart&)> work);

  Token token_;  // first: the others' callbacks are guarded by it
  NodeWorld world_;
  NodeOptions options_;
  NodeEvents& events_;
  Appender appender_;
  Replica replica_;
  Tickets tickets_;
  std::unique_ptr<Runtime> runtime_;  // null without a host
  std::shared_ptr<HeartSide> heart_side_;
  Observer observer_;
  Steward steward_;

  Phase phase_ = Phase::loading;
  std::uint64_t session_ = 0;
  std::deque<std::uint64_t> former_;       // sessions of this node, the present one last
  bool seen_join_ = false;                 // the session's join was applied
  std::optional<Position> join_position_;  // where it lies, once that is known
  std::optional<Position> end_position_;   // where the log's end was when it was last sought
  std::optional<Error> failure_;           // why the node is stopping for good
  Position diverged_ = 0;                  // where another's digest made this node's state look wrong
  int divergences_ = 0;
  int joins_missed_ = 0;     // in a row
  bool reload_due_ = false;  // history was lost while the session was being fenced
  bool expects_end_ = false;
  bool finding_out_ = false;  // whether the pool has ended; nothing is read meanwhile
  bool closing_ = false;
  bool drain_sent_ = false;
  bool ended_pool_ = false;  // this node's leaving was the pool's end
  bool digest_due_ = false;
  bool appends_delayed_ = false;
  bool reads_delayed_ = false;
  bool roster_changed_ = true;
  std::uint64_t histories_ = 0;
  std::uint64_t epoch_seen_ = 0;
  std::uint64_t own_beats_ = 0;
  std::uint64_t bytes_said_ = 0;  // applied when a beat was last asked for
  std::map<Bytes, OwnWorker, std::less<>> workers_;
  std::map<std::uint64_t, bool> digests_;  // by session: whether its last digest agreed with ours
  Timer close_deadline_;
  Timer retry_workers_;
};

}  // namespace tenure

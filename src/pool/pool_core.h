#pragma once

// One shard of a pool, or a pool that has only one, as a process has it: the log opened from its URL, the loops, the
// node (or the client, which keeps no state), and the tickets. Shards (shards.h) are what the library's Pool and the
// program share; they differ in the host that runs the jobs.
//
//     auto core = PoolCore::open({.url = url, .pool = name, .node = {…}}, &host, &listener);
//     if (!core) return core.error();
//     host.attach((*core)->reports());                 // before the first worker
//     (*core)->add_worker({.id = "w1"}, deadline);
//     TicketPtr ticket = *(*core)->submit({.key = "k", .text = payload});
//     ticket->wait(Stage::done, deadline);
//     (*core)->close(deadline);
//
// Everything is thread-safe, and what waits takes a deadline. Nothing that waits may be called on the core's own
// loop, that is, from the host's calls or the listener's.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/entropy.h"
#include "base/thread_loop.h"
#include "log/log.h"
#include "node/client/client.h"
#include "node/known_death.h"
#include "node/node.h"
#include "node/request.h"
#include "pool/callbacks.h"
#include "pool/request_outbox.h"

namespace tenure {

namespace v1 {
class Ask;
class ListJobs;
class ListedDead;
class ListedJob;
class Told;
}  // namespace v1

// Requests that may wait in this process for their turn: beyond it submit() says Errc::busy.
constexpr std::size_t kSubmittedBytesMax = 64U << 20;

struct CoreOptions {
  std::string url;
  std::string pool = "default";
  Shard shard{};             // a count of zero: as many as the pool has
  bool client_only = false;  // no workers, and no state until somebody looks
  NodeOptions node;          // its name, host and pid are filled in where they are empty
  // Whether processes of this host learn of each other's deaths without waiting for the lease, where the engine is a
  // file of this host. What knows it may be given, to share it with a guard; otherwise the core has its own.
  bool known_deaths = true;
  KnownDeath* known_death = nullptr;
  std::shared_ptr<Callbacks> callbacks{};  // null: the core has its own
  // Both on the loop, once: the pool is to end; and nothing more will be said or heard here.
  std::function<void()> shutdown_seen{};
  std::function<void()> ended{};
  // Removes the logs of the other shards; `then` is to be called, from any thread. For the first one, which goes last.
  std::function<void(std::function<void()> then)> remove_others{};
};

// Who hears, on the loop, what a node or client says of itself, and what the log does to the pool. They must outlive
// the core. A client has no state to watch until somebody looks.
struct CoreListeners {
  std::vector<NodeEvents*> node{};
  std::vector<PoolWatcher*> pool{};
};

class PoolCore final : private NodeEvents {
 public:
  // `host` runs the jobs of this node's workers; null for a node that has none. It must outlive the core.
  static Result<std::unique_ptr<PoolCore>> open(CoreOptions options, Host* host, CoreListeners listeners = {});
  // Without close() it is as if the process had died: nothing is said, and others wait for the lease. The host must
  // not run anything any more.
  ~PoolCore() override;
  PoolCore(const PoolCore&) = delete;
  PoolCore& operator=(const PoolCore&) = delete;

  // Refused at once: what is malformed (Errc::invalid), too much at a time (Errc::busy), and after the end.
  Result<TicketPtr> submit(const Request& request);

  // Waits until the worker is in the pool. After an error it is not, and will not be.
  Status add_worker(NodeWorker worker, Deadline deadline);
  // What add_worker() refuses at once.
  static Status check(const NodeWorker& worker);
  bool has_worker(const std::string& id) const;  // or is about to have it, or to have it no more
  // Hands over what the worker holds, and waits until it has left.
  Status remove_worker(const std::string& id, Deadline deadline);
  Status serve(const std::string& worker, std::vector<Bytes> add, std::vector<Bytes> remove);
  Status drain(const std::string& worker);
  std::vector<std::string> workers() const;

  // Runs `what` on the loop with the state as of the last entry that was read; waits until the log has been read up
  // to where it stood when it was opened. A client loads the state for it, once.
  Status look(const std::function<void(const Machine&)>& what, Deadline deadline);

  // What the state says (node/listing.h). A client begins to load it; where that takes long it asks a member, which is
  // quick however many keys there are, and takes what comes first.
  Result<v1::Told> inquire(const v1::Ask& ask, Deadline deadline);

  // Waits until what was submitted has been answered; hands over, and leaves. Errc::timed_out: it goes on.
  Status close(Deadline deadline);
  // Ends the whole pool, and waits for the end. The core is then closed.
  Status shut_down(Deadline deadline);
  // To be called before the end of the first of several shards is ordered. A client begins to follow the log.
  Status expect_end();
  // Nothing more will be said or heard: closed, broken down, or the pool is gone.
  bool over() const { return failure().has_value(); }
  // Why; nothing while it goes on.
  std::optional<Error> failure() const;
  // For one who has waited in vain: the log takes nothing now, and why; or nothing but that it was in vain.
  Error late(const char* operation) const;

  // As many as the pool has.
  std::uint32_t shards() const { return options_.shard.count; }
  // For one of several shards, from any thread: the others are to end, or have ended.
  void order_shutdown();
  void leave_at_shutdown();
  void remove_log(std::function<void()> done);

  // What the host ran its jobs in is gone: everything is fenced, and the node joins again. Any thread.
  void host_lost();
  // The node's, for the host. Only with a host.
  HoldReports& reports();
  const std::string& node_name() const { return options_.node.name; }
  ThreadLoop& loop() { return loop_; }

 private:
  PoolCore(CoreOptions options, std::unique_ptr<Log> log, std::unique_ptr<KnownDeath> deaths, Host* host,
           CoreListeners listeners);

  struct HeardWorker {
    bool added = false;
    std::optional<Errc> refused;  // why, the last time
  };
  // What has been heard from the node, for those who wait.
  struct Heard {
    bool caught_up = false;
    bool looker_ready = false;     // it has loaded the state, or never will
    std::optional<Error> failure;  // why nothing can be asked any more
    std::optional<Error> delay;    // why the log takes nothing now
    std::map<std::string, HeardWorker> workers;
  };

  bool wait(Deadline deadline, const std::function<bool(const Heard&)>& reached);
  bool wait_answered(Deadline deadline);
  void hear(const std::function<void(Heard&)>& what);
  Result<PoolCore*> looker();
  std::optional<v1::Told> told_by_a_member(const v1::Ask& ask, Deadline deadline);
  void on_loop(std::function<void(Node&)> what);
  std::uint64_t next_ticket();

  // On the loop.
  void send_submitted();
  std::size_t send_outgoing();
  Status send(SealedRequests& requests);
  void give_up(SealedRequests& requests, const Error& error);
  void heard_of_tickets();
  void count_answers();
  void end(const Error& error);

  // NodeEvents.
  void caught_up() override;
  void worker_added(BytesView worker) override;
  void worker_refused(BytesView worker, Errc why) override;
  void worker_removed(BytesView worker) override;
  void settled(const Settlement& settlement) override;
  void ticket_lost(std::uint64_t ticket) override;
  void applied(const Machine& machine) override;
  void closed() override;
  void log_delayed(const Error& error) override;
  void log_resumed() override;
  void broken(const Error& error) override;
  void pool_gone() override;
  bool finds_out_the_end() override;

  // A client's, on the loop of its looker.
  class LookerEvents final : public NodeEvents {
   public:
    explicit LookerEvents(PoolCore& core) : core_(core) {}
    void caught_up() override { ready(); }
    void closed() override { ready(); }
    void broken(const Error&) override { ready(); }
    void pool_gone() override { ready(); }

   private:
    void ready() {
      core_.hear([](Heard& heard) { heard.looker_ready = true; });
    }
    PoolCore& core_;
  };

  // How what takes its time finds the core again, or learns that it is gone.
  struct Life {
    std::mutex mutex;
    PoolCore* core;  // guarded by mutex; null once it is gone
  };

  CoreOptions options_;
  const CoreListeners listeners_;
  NodeEventsTee events_;  // this core first, and then its listeners
  const std::shared_ptr<Life> life_ = std::make_shared<Life>();
  const std::function<void()> shutdown_seen_;  // may be null
  std::function<void()> ended_;                // owned by the loop; null once it was called
  const bool own_callbacks_;
  const std::shared_ptr<Callbacks> callbacks_;
  BootClock clock_;
  SystemEntropy entropy_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<KnownDeath> own_deaths_;  // null where they are given, or cannot be known

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Heard heard_;                             // guarded by mutex_
  RequestOutbox submitted_;                 // guarded by mutex_
  std::size_t submitted_bytes_ = 0;         // guarded by mutex_; of this and of outgoing_
  bool sending_ = false;                    // guarded by mutex_: the loop will look at submitted_
  std::atomic<std::size_t> unanswered_{0};  // submitted, and nothing heard of it yet
  std::atomic<std::uint64_t> tickets_;      // the number of the next ticket

  LookerEvents looker_events_{*this};
  std::mutex looker_mutex_;
  std::unique_ptr<PoolCore> looker_;  // guarded by looker_mutex_; a client's, once somebody has looked

  // Owned by the loop.
  RequestOutbox outgoing_;           // taken from submitted_, and not sent yet
  std::size_t sent_unanswered_ = 0;  // of unanswered_, as of the last count
  bool turn_posted_ = false;         // something was heard of tickets in this turn of the loop
  bool shutting_down_ = false;       // this process asked for it
  bool has_members_ = false;         // as of the last entry
  bool saw_shutdown_ = false;        // the pool was ending as of the last entry, or has ended since

  ThreadLoop heart_loop_;
  ThreadLoop loop_;
  std::unique_ptr<Timer> room_;  // owned by the loop, like the two below
  std::unique_ptr<Node> node_;   // one of these two
  std::unique_ptr<Client> client_;
};

}  // namespace tenure

#pragma once

// One shard of a pool, or a pool that has only one, as a process has it: the log opened from its URL, the loops, and
// the tickets. There are two kinds: a MemberCore has a node, which follows the log and may have workers; a ClientCore
// keeps no state until somebody looks. Shards (shards.h) are what the library's Pool and the program share; they differ
// in the host that runs the jobs.
//
//     auto core = PoolCore::open({.url = url, .pool = name, .node = {…}}, &host, {.node = {&listener}});
//     if (!core) return core.error();
//     host.attach((*core)->reports());                 // before the first worker
//     (*core)->add_worker({.id = "w1"}, deadline);
//     TicketPtr ticket = *(*core)->submit({.key = "k", .text = payload});
//     ticket->wait(Stage::done, deadline);
//     (*core)->close(deadline);
//
// Everything is thread-safe, and what waits takes a deadline. Nothing that waits may be called on the core's own
// loop, that is, from the host's calls or the listeners'.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/entropy.h"
#include "base/known_death.h"
#include "base/thread_loop.h"
#include "log/log.h"
#include "node/keys/own_workers.h"
#include "node/node_events.h"
#include "node/node_options.h"
#include "pool/callbacks.h"
#include "pool/request_sender.h"

namespace tenure {

namespace v1 {
class Ask;
class ListJobs;
class ListedDead;
class ListedJob;
class Told;
}  // namespace v1

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
  // Removes the logs of the other shards; it calls `then`, from any thread. For the first shard, which goes last.
  std::function<void(std::function<void()> then)> remove_others{};
};

// Who hears, on the loop, what a node or client says of itself, and what the log does to the pool. They must outlive
// the core. A client has nothing to watch until somebody looks.
struct CoreListeners {
  std::vector<NodeEvents*> node{};
  std::vector<PoolWatcher*> pool{};
};

class PoolCore : protected NodeEvents {
 public:
  // `host` runs the jobs of this node's workers; null for a node that has none. It must outlive the core.
  static Result<std::unique_ptr<PoolCore>> open(CoreOptions options, Host* host, CoreListeners listeners = {});
  // Without close() it is as if the process had died: nothing is said, and others wait for the lease. The host must
  // not run anything any more.
  ~PoolCore() override;
  PoolCore(const PoolCore&) = delete;
  PoolCore& operator=(const PoolCore&) = delete;

  // Refused at once: what is malformed (Errc::invalid), too much at a time (Errc::busy), and after the end.
  Result<TicketPtr> submit(const Request& request) { return sender_.submit(request); }

  // Waits until the worker is in the pool. After an error it is not, and will not be.
  virtual Status add_worker(NodeWorker worker, Deadline deadline) = 0;
  virtual bool has_worker(const std::string& id) const = 0;  // or is about to have it, or to have it no more
  // Hands over what the worker holds, and waits until it has left.
  virtual Status remove_worker(const std::string& id, Deadline deadline) = 0;
  virtual Status serve(const std::string& worker, std::vector<Bytes> add, std::vector<Bytes> remove) = 0;
  virtual Status drain(const std::string& worker) = 0;
  virtual std::vector<std::string> workers() const = 0;

  // Runs `what` on the loop with the state as of the last entry that was read; waits until the log has been read up
  // to where it stood when it was opened. A client loads the state for it, once.
  virtual Status look(const std::function<void(const Machine&)>& what, Deadline deadline) = 0;
  // What the state says (node/keys/listing.h). A client begins to load it; where that takes long it asks a member,
  // which is quick however many keys there are, and takes what comes first.
  virtual Result<v1::Told> inquire(const v1::Ask& ask, Deadline deadline) = 0;

  // Waits until what was submitted has been answered; hands over, and leaves. Errc::timed_out: it goes on.
  virtual Status close(Deadline deadline) = 0;
  // Ends the whole pool, and waits for the end. The core is then closed.
  virtual Status shut_down(Deadline deadline) = 0;
  // To be called before the end of the first of several shards is ordered. A client begins to follow the log.
  virtual Status expect_end() = 0;
  // Nothing more will be said or heard: closed, broken down, or the pool is gone.
  bool over() const { return failure().has_value(); }
  // Why; nothing while it goes on.
  std::optional<Error> failure() const;
  // For one who has waited in vain: the log takes nothing now, and why; or nothing but that it was in vain.
  Error late(const char* operation) const;

  // The count of shards is the pool's.
  const CoreOptions& options() const { return options_; }
  // For one of several shards, from any thread: the others are to end, or have ended.
  virtual void order_shutdown() {}
  virtual void leave_at_shutdown() {}
  void remove_log(std::function<void()> done);

  // What the host ran its jobs in is gone: everything is fenced, and the node joins again. Any thread.
  virtual void host_lost() {}
  // The node's, for the host. Only with a host.
  virtual HoldReports& reports() = 0;
  ThreadLoop& loop() { return loop_; }

 protected:
  struct Parts {
    CoreOptions options;
    CoreListeners listeners;
    std::unique_ptr<Log> log;
  };
  explicit PoolCore(Parts parts);

  // Waits for what `reached`, which is called under mutex_, looks at. Whatever changes that calls hear().
  bool wait(Deadline deadline, const std::function<bool()>& reached) const;
  // Until everything that was submitted has been answered.
  bool wait_answered(Deadline deadline) const;
  // Changes something that others wait for.
  void hear(const std::function<void()>& change);
  // On the loop: nothing is sent or heard any more.
  void end(const Error& error);
  // Ends whatever runs on the loop. `destroy` runs there, and destroys the node or client. For destructors.
  void stop(const std::function<void()>& destroy);

  // What the node or client has; on the loop. Nothing once it is gone.
  virtual std::optional<std::uint64_t> answered() const = 0;
  virtual void give_up_tickets(const Error& error) = 0;

  // NodeEvents. Whoever derives overrides more of them.
  void settled(const Settlement& settlement) override;
  void ticket_lost(std::uint64_t ticket) override;
  void room_for_requests() override { sender_.has_room(); }
  void log_delayed(const Error& error) override;
  void log_resumed() override;
  void broken(const Error& error) override { end(error); }

  CoreOptions options_;
  const CoreListeners listeners_;
  NodeEventsTee events_;  // this core first, and then its listeners
  const bool own_callbacks_;
  const std::shared_ptr<Callbacks> callbacks_;
  BootClock clock_;
  SystemEntropy entropy_;
  std::unique_ptr<Log> log_;

  mutable std::mutex mutex_;
  std::optional<Error> failure_;  // guarded by mutex_; why nothing can be asked any more
  std::optional<Error> delay_;    // guarded by mutex_; why the log takes nothing now

  ThreadLoop loop_;
  RequestSender sender_;

 private:
  void heard_of_tickets();

  mutable std::condition_variable changed_;
  // Owned by the loop.
  std::function<void()> ended_;  // null once it was called
  bool turn_posted_ = false;     // something was heard of tickets in this turn of the loop
};

// What an operation has to say that the core's end has cut short.
Failure ended_because(const Error& why, const char* operation);
// What shut_down() has to say after the core's end: nothing, if another process or another shard has shut the pool
// down.
Status shut_down_after(const Error& why);

}  // namespace tenure

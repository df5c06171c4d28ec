#pragma once

// One shard of a pool in this process: the log opened from its URL, the loops, and the tickets. There are two kinds. A
// MemberCore has a node, which follows the log and may have workers. A ClientCore keeps no state until a caller reads
// it. Shards (shards.h) combines the cores of a pool. The library's Pool and the program share it; they differ in the
// host that runs the jobs.
//
//     auto core = PoolCore::open({.url = url, .pool = name, .node = {…}}, &host, {.node = {&listener}});
//     if (!core) return core.error();
//     host.attach((*core)->reports());                 // before the first worker
//     (*core)->add_worker({.id = "w1"}, deadline);
//     TicketPtr ticket = *(*core)->submit({.key = "k", .text = payload});
//     ticket->wait(Stage::done, deadline);
//     (*core)->close(deadline);
//
// Everything is thread-safe, and every wait has a deadline. No function that waits may be called on the core's own
// loop, that is, from the host's calls or from listeners.

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
class ListedSource;
class Told;
}  // namespace v1

struct CoreOptions {
  std::string url;
  std::string pool = "default";
  Shard shard{};             // count zero: as many as the pool has
  bool create = true;        // false: opening fails with Errc::no_such_pool if there is no pool of the name
  bool client_only = false;  // no workers, and no state until it is needed
  NodeOptions node;          // empty name, host and pid are filled in
  // Whether processes of this host detect each other's deaths without waiting for the lease, if the engine is a file on
  // this host. The core has a detection of its own, unless `known_death_of` returns one, to share it with a guard. It
  // is called when the log is open: only then it is certain which file the pool has.
  bool known_deaths = true;
  std::function<Result<KnownDeath*>()> known_death_of{};
  std::shared_ptr<Callbacks> callbacks{};  // null: the core has its own
  // Both are called on the loop, once. shutdown_seen: the pool will end. ended: nothing more is sent or received.
  std::function<void()> shutdown_seen{};
  std::function<void()> ended{};
  // Removes the logs of the other shards, and then calls `then`, from any thread. For the first shard, which goes last.
  std::function<void(std::function<void()> then)> remove_others{};
};

// Listeners to the events of the node or client, and to the effects of the machine, on the loop. They must outlive the
// core. A client has no effects until the state is loaded.
struct CoreListeners {
  std::vector<NodeEvents*> node{};
  std::vector<PoolWatcher*> pool{};
};

class PoolCore : protected NodeEvents {
 public:
  // `host` runs the jobs of this node's workers. Null for a node without workers. It must outlive the core.
  static Result<std::unique_ptr<PoolCore>> open(CoreOptions options, Host* host, CoreListeners listeners = {});
  // Without close() it is as if the process had died: nothing is sent, and others wait for the lease. The host must
  // have stopped everything.
  ~PoolCore() override;
  PoolCore(const PoolCore&) = delete;
  PoolCore& operator=(const PoolCore&) = delete;

  // Fails at once with Errc::invalid for a malformed request, with Errc::busy for too many at a time, and after the
  // end.
  Result<TicketPtr> submit(const Request& request) { return sender_.submit(request); }

  // Waits until the worker is in the pool. After an error it is not, and will not be.
  virtual Status add_worker(NodeWorker worker, Deadline deadline) = 0;
  virtual bool has_worker(const std::string& id) const = 0;  // or is adding or removing it
  // Hands over the worker's keys, and waits until it has left.
  virtual Status remove_worker(const std::string& id, Deadline deadline) = 0;
  // Both wait until the log has it. `until_empty`: and until the worker holds nothing.
  virtual Status serve(const std::string& worker, std::vector<Bytes> add, std::vector<Bytes> remove,
                       Deadline deadline) = 0;
  virtual Status drain(const std::string& worker, bool until_empty, Deadline deadline) = 0;
  virtual std::vector<std::string> workers() const = 0;

  // Runs `what` on the loop with the state of the last entry that was read. Before that, waits until the log was read
  // up to its end at the time of opening. A client loads the state for it, once.
  virtual Status look(const std::function<void(const Machine&)>& what, Deadline deadline) = 0;
  // The listing of a state (node/keys/listing.h). A client starts to load the state. If that takes long it also asks a
  // member, which is fast however many keys there are, and uses the first result.
  virtual Result<v1::Told> inquire(const v1::Ask& ask, Deadline deadline) = 0;

  // Waits until submitted requests are answered; hands over, and leaves. After Errc::timed_out it continues.
  virtual Status close(Deadline deadline) = 0;
  // Ends the whole pool, and waits for the end. The core is then closed.
  virtual Status shut_down(Deadline deadline) = 0;
  // Call it before the end of the first of several shards is requested. A client begins to follow the log.
  virtual Status expect_end() = 0;
  // Nothing more is sent or received: closed, failed, or the pool is gone.
  bool over() const { return failure().has_value(); }
  // The reason. Nothing before the end.
  std::optional<Error> failure() const;
  // The error for a caller whose wait timed out: why the log accepts nothing now, or just the timeout.
  Error late(const char* operation) const;

  // Its number of shards is the pool's.
  const CoreOptions& options() const { return options_; }
  // For one of several shards, from any thread: the others will end, or have ended.
  virtual void order_shutdown() {}
  virtual void leave_at_shutdown() {}
  void remove_log(std::function<void()> done);

  // The process that ran the host's jobs is gone. Fences everything, and the node joins again. Any thread.
  virtual void host_lost() {}
  // The node's reports, for the host. Only with a host.
  virtual HoldReports& reports() = 0;
  ThreadLoop& loop() { return loop_; }

 protected:
  struct Parts {
    CoreOptions options;
    CoreListeners listeners;
    std::unique_ptr<Log> log;
  };
  explicit PoolCore(Parts parts);

  // Waits for `reached`, which is called with mutex_ held. Every change of what it reads calls hear().
  bool wait(Deadline deadline, const std::function<bool()>& reached) const;
  // Waits until all submitted requests were answered.
  bool wait_answered(Deadline deadline) const;
  // Makes a change that others wait for.
  void hear(const std::function<void()>& change);
  // On the loop: nothing is sent or received any more.
  void end(const Error& error);
  // Ends everything that runs on the loop. `destroy` runs there, and destroys the node or client. For destructors.
  void stop(const std::function<void()>& destroy);

  // The count of the node or client; on the loop. Nothing once it is gone.
  virtual std::optional<std::uint64_t> answered() const = 0;
  virtual void give_up_tickets(const Error& error) = 0;

  // NodeEvents. Derived classes override more of them.
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
  std::optional<Error> failure_;  // guarded by mutex_; why no request is accepted any more
  std::optional<Error> delay_;    // guarded by mutex_; why the log accepts nothing now

  ThreadLoop loop_;
  RequestSender sender_;

 private:
  void heard_of_tickets();

  mutable std::condition_variable changed_;
  // Owned by the loop.
  std::function<void()> ended_;  // null after the call
  bool turn_posted_ = false;     // a ticket changed in this turn of the loop
};

// The error of an operation that was interrupted by the core's end.
Failure ended_because(const Error& why, const char* operation);
// The result of shut_down() after the core's end: success if another process or another shard has shut the pool down.
Status shut_down_after(const Error& why);

}  // namespace tenure

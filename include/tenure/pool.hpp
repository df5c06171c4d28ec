#pragma once

// A worker pool in which every key has exactly one live holder.
//
//     tenure::Pool pool("mail", "sqlite:mail.db");
//     pool.add_worker([](tenure::Job& job) { return send(job.payload()); });
//     tenure::Ticket ticket = pool.dispatch_task("tenant-1", "hello").value();
//     std::cout << ticket.wait_done(5s).value() << '\n';
//
// All processes that open the same URL with the same name share a pool. Several pools may share a URL. A process
// without workers can still dispatch, list and wait. The URL chooses the engine:
//
//     memory:NAME                         threads of this process
//     sqlite:PATH[?sync=full|normal|off]  processes of one host, in a file
//     redis://HOST[:PORT][/DB], rediss://, redis+sentinel://, redis+unix:  any number of hosts (docs/redis.md)
//
// Thread-safe. Handlers may call all functions except close() and shutdown(), and must not destroy the pool. The pool
// calls handlers and callbacks without holding a lock.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tenure/handler.hpp>
#include <tenure/handlers.hpp>
#include <tenure/listing.hpp>
#include <tenure/options.hpp>
#include <tenure/result.hpp>
#include <tenure/source.hpp>
#include <tenure/ticket.hpp>
#include <tenure/worker.hpp>
#include <type_traits>
#include <vector>

namespace tenure {

class Pool {
 public:
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kListingTimeout = std::chrono::seconds(10);

  // Joins the pool, or creates it. This opens the engine only; a background thread reads the log.
  static Result<Pool> open(std::string name, std::string url, PoolOptions options = {});
  // The same, but throws BadResult if open() fails.
  Pool(std::string name, std::string url, PoolOptions options = {});
  // Closes the pool within PoolOptions::close_timeout. OnLeaseLost decides about handlers that still run after that.
  ~Pool();
  Pool(Pool&&) noexcept;
  Pool& operator=(Pool&&) noexcept;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Adds a worker and waits until the pool has accepted it. Errc::key_exists: another living worker has the id.
  Result<Worker> add_worker(std::shared_ptr<Handler> handler, WorkerOptions options = {});
  // Adds a worker for tasks. `task` is any callable that takes a Job& (see task_handler).
  template <class Task>
    requires std::is_invocable_v<Task&, Job&>
  Result<Worker> add_worker(Task task, WorkerOptions options = {}) {
    return add_worker(task_handler(detail::as_task(std::move(task))), std::move(options));
  }
  // Adds a worker with a handler for each type of job. It takes jobs of these types only.
  Result<Worker> add_worker(const Handlers& handlers, WorkerOptions options = {});
  // Hands over the worker's keys, and waits until it has left. See Worker::remove().
  Status remove_worker(const Worker& worker, Timeout timeout = std::chrono::minutes(3));

  // Dispatches a resident job. If the key already has a job, the ticket reports Errc::key_exists: of several
  // dispatchers exactly one wins. Malformed or too large arguments fail here, before anything is written. Errc::busy:
  // this process has too many unsent requests.
  Result<Ticket> dispatch(std::string key, std::string payload = {}, const DispatchOptions& options = {});
  // Dispatches a task. It runs after the earlier tasks of the key.
  Result<Ticket> dispatch_task(std::string key, std::string payload = {}, const DispatchOptions& options = {});
  // Sends a message to the key's resident, wherever it runs. The ticket is done when the handler has handled it.
  Result<Ticket> notify(std::string key, std::string message);
  // Stops the key's job, wherever it runs, and drops the tasks behind it. The ticket is done when the job has stopped.
  // Its result is the number of tasks that were dropped, or empty if there were none.
  Result<Ticket> stop(std::string key);

  // Listings. local_workers() lists the ids of this process's workers at once. The others cover the whole pool, and
  // first wait until this process has read the log up to its present end. So a listing shows everything that anybody
  // was told before the call. If the engine is away, it fails once the timeout is over.
  std::vector<std::string> local_workers() const;
  Result<std::vector<WorkerInfo>> workers(Timeout timeout = kListingTimeout) const;
  Result<KeyPage> keys(const KeyQuery& query = {}, Timeout timeout = kListingTimeout) const;
  Result<KeyInfo> key(std::string_view key, Timeout timeout = kListingTimeout) const;
  Result<std::string> payload(std::string_view key, Timeout timeout = kListingTimeout) const;
  // Errc::no_such_key if no worker holds the key.
  Result<Holder> holder(std::string_view key, Timeout timeout = kListingTimeout) const;

  // Dead letters, oldest first. `after` is the id of the last one already seen, or zero.
  Result<std::vector<DeadJob>> dead_jobs(std::uint64_t after = 0, std::size_t limit = 100,
                                         Timeout timeout = kListingTimeout) const;
  Result<Ticket> retry_dead(std::uint64_t id);
  Result<Ticket> drop_dead(std::uint64_t id);

  // The sources that residents emit (Job::emit), and those that the pool reads by itself (add_source), by partition;
  // ordered by name. With shards, a shard that had no tasks of a source
  // lately may be behind; the position is the lowest.
  Result<std::vector<SourceInfo>> sources(Timeout timeout = kListingTimeout) const;
  // The source begins anew, or is gone for good. A pool keeps up to 4096 sources. Stop the resident that emits it
  // first. Errc::no_such_key if the pool has no such source.
  Status forget_source(const std::string& source, Timeout timeout = kListingTimeout);

  // Reads a source in this process, together with all others that have added it: each event becomes a task, exactly
  // once (docs/sources.md). Errc::key_exists: the pool has a source of this name with other options. Errc::version:
  // members of an older version are in the pool.
  Status add_source(const SourceOptions& options);
  // Stops the source in the whole pool, and forgets how far it was read. Its tasks stay.
  Status remove_source(const std::string& name, Timeout timeout = std::chrono::minutes(1));

  // The partitions of the pool, by number; none if it has no partitioned workers (tenure/partition.hpp).
  Result<std::vector<PartitionInfo>> partitions(Timeout timeout = kListingTimeout) const;
  Result<PartitionRing> partition_ring(Timeout timeout = kListingTimeout) const;
  // Changes them while the pool goes on. If their number changes, all partitions of the old number are stopped before
  // the first one of the new number starts: a row belongs to another partition then. Workers that join later must name
  // the new ring. Errc::no_such_key: the pool has no partitions; its first worker brings them.
  Status set_partitions(const PartitionRing& ring, Timeout timeout = kListingTimeout);

  // Moves all keys away from a worker of any process, and assigns no new ones to it. Waits until the pool has recorded
  // it, or also until the worker holds nothing. Errc::timed_out does not cancel it.
  enum class DrainUntil : std::uint8_t { recorded, empty };
  Status drain(const std::string& worker, DrainUntil until = DrainUntil::recorded, Timeout timeout = kListingTimeout);

  // Hands over this process's keys and leaves the pool. No job is lost. Handlers have the pool's worker_shutdown_ttl to
  // stop. Errc::timed_out names the keys of those that have not: the process keeps these keys, and leaves once they
  // have stopped; close() may be called again to wait for it. Afterwards all functions, and all tickets that are still
  // open, fail with Errc::closed.
  Status close();
  Status close(Timeout timeout);
  // Shuts down the whole pool: refuses new jobs, finishes accepted tasks, stops residents (those that wait for a worker
  // are dropped), removes every worker, and deletes the pool's data. If this process dies midway, another one completes
  // the shutdown. Tasks are retried within a second, and a task that asks for another try uses up an attempt.
  Status shutdown(Timeout timeout = std::chrono::minutes(5));

 private:
  friend class PartitionedWorker;
  explicit Pool(std::shared_ptr<PoolImpl> impl);

  std::shared_ptr<PoolImpl> impl_;
};

}  // namespace tenure

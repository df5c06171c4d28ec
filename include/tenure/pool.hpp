#pragma once

// A worker pool in which every key has exactly one live holder. A process that has workers is a member of the pool;
// one that has none can still dispatch, look, and wait.
//
//     tenure::Pool pool("mail", "sqlite:mail.db");
//     pool.add_worker([](tenure::Job& job) { return send(job.payload()); });
//     tenure::Ticket ticket = pool.dispatch_task("tenant-1", "hello").value();
//     std::cout << ticket.wait_done(5s).value() << '\n';
//
// The engine is chosen by URL, and every process that opens the same URL under the same name is in the same pool:
//
//     memory:NAME                        within this process
//     sqlite:PATH[?sync=full|normal|off]  processes of one host, on a file
//     redis://HOST[:PORT][/DB], rediss://, redis+sentinel://, redis+unix:  any number of hosts (docs/redis.md)
//
// Thread-safe. Handlers may call everything here except close() and shutdown(), and must not destroy the pool.
// Nothing is ever called with a lock held.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tenure/handler.hpp>
#include <tenure/listing.hpp>
#include <tenure/options.hpp>
#include <tenure/result.hpp>
#include <tenure/ticket.hpp>
#include <tenure/worker.hpp>
#include <type_traits>
#include <vector>

namespace tenure {

class Pool {
 public:
  using Timeout = std::chrono::nanoseconds;
  static constexpr Timeout kListingTimeout = std::chrono::seconds(10);

  // Joins the pool, or creates it. Only the engine is opened here; the log is read behind the caller's back.
  static Result<Pool> open(std::string name, std::string url, PoolOptions options = {});
  // The same; throws BadResult where open() fails.
  Pool(std::string name, std::string url, PoolOptions options = {});
  // As close(), bounded by PoolOptions::close_timeout. Handlers that still run then are treated as in OnLeaseLost.
  ~Pool();
  Pool(Pool&&) noexcept;
  Pool& operator=(Pool&&) noexcept;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Adds a worker and waits until the pool has it. Errc::key_exists: another living worker has the id.
  Result<Worker> add_worker(std::shared_ptr<Handler> handler, WorkerOptions options = {});
  // One for tasks: anything that can be called with a Job& (see task_handler).
  template <class Task>
    requires std::is_invocable_v<Task&, Job&>
  Result<Worker> add_worker(Task task, WorkerOptions options = {}) {
    return add_worker(task_handler(detail::as_task(std::move(task))), std::move(options));
  }
  // Hands over what the worker holds, and waits for it to have left.
  Status remove_worker(const Worker& worker, Timeout timeout = std::chrono::minutes(3));

  // Gives the key a resident job. Errc::key_exists, on the ticket, if it has a job already: of several dispatchers
  // exactly one wins. What is malformed or over a bound is refused here, before anything is written; Errc::busy means
  // that more is waiting to be sent than this process may hold.
  Result<Ticket> dispatch(std::string key, std::string payload = {}, const DispatchOptions& options = {});
  // Appends a task to those of the key.
  Result<Ticket> dispatch_task(std::string key, std::string payload = {}, const DispatchOptions& options = {});
  // Sends a message to the key's resident, wherever it runs.
  Result<Ticket> notify(std::string key, std::string message);
  // Stops the key's job wherever it runs, and drops tasks that wait behind it. The ticket is done when it has stopped.
  Result<Ticket> stop(std::string key);

  // The workers of this process; of the whole pool; keys, page by page; one key, its payload, its holder. All but
  // the first wait until this process has read the log up to where it stands now.
  std::vector<std::string> local_workers() const;
  Result<std::vector<WorkerInfo>> workers(Timeout timeout = kListingTimeout) const;
  Result<KeyPage> keys(const KeyQuery& query = {}, Timeout timeout = kListingTimeout) const;
  Result<KeyInfo> key(std::string_view key, Timeout timeout = kListingTimeout) const;
  Result<std::string> payload(std::string_view key, Timeout timeout = kListingTimeout) const;
  // Errc::no_such_key if nobody holds the key at present.
  Result<Holder> holder(std::string_view key, Timeout timeout = kListingTimeout) const;

  // Dead letters, oldest first, from the one after `after` on.
  Result<std::vector<DeadJob>> dead_jobs(std::uint64_t after = 0, std::size_t limit = 100,
                                         Timeout timeout = kListingTimeout) const;
  Result<Ticket> retry_dead(std::uint64_t id);
  Result<Ticket> drop_dead(std::uint64_t id);

  // Takes the keys away from a worker, of whatever process, and gives it no more. Does not wait.
  Status drain(const std::string& worker);

  // Hands over what this process holds, and leaves. Nothing is lost. After it everything here says Errc::closed, and
  // tickets that are still open do too.
  Status close();
  Status close(Timeout timeout);
  // Ends the whole pool: new jobs are refused, tasks that were accepted before are still done, residents are
  // stopped, every worker leaves, and the pool's data is removed. If this process dies midway another finishes it.
  Status shutdown(Timeout timeout = std::chrono::minutes(5));

 private:
  explicit Pool(std::shared_ptr<PoolImpl> impl);

  std::shared_ptr<PoolImpl> impl_;
};

}  // namespace tenure

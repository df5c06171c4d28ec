#pragma once

// A handle to a worker of this process, as Pool::add_worker() returns it. Dropping the handle does not remove the
// worker: it stays until remove() or until its pool is closed. Thread-safe. A handle may outlive its pool; its calls
// then fail with Errc::closed.

#include <chrono>
#include <memory>
#include <string>
#include <tenure/result.hpp>
#include <vector>

namespace tenure {

class PoolImpl;

class Worker {
 public:
  Worker(std::weak_ptr<PoolImpl> pool, std::string id);

  const std::string& id() const { return id_; }

  // Hands over the worker's keys, and waits until it has left. Its jobs have the pool's worker_shutdown_ttl to stop.
  // Errc::timed_out names the keys of those that have not; the worker leaves once they have.
  Status remove(std::chrono::nanoseconds timeout = std::chrono::minutes(3));

  // Keys that this worker serves move to it, and stay with it for as long as it lives. Both wait until the pool has
  // recorded it; the keys move afterwards.
  Status serve(const std::vector<std::string>& keys, std::chrono::nanoseconds timeout = std::chrono::seconds(10));
  Status stop_serving(const std::vector<std::string>& keys,
                      std::chrono::nanoseconds timeout = std::chrono::seconds(10));

 private:
  std::weak_ptr<PoolImpl> pool_;
  std::string id_;
};

}  // namespace tenure

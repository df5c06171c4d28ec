#pragma once

// A worker of this process, as the one who added it sees it. A handle: it may be copied and thrown away, and the
// worker stays until it is removed or its pool is closed. Thread-safe; a handle may outlive its pool, and then says
// Errc::closed.

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

  // Hands over what it holds and leaves; waits for it. Its jobs have the pool's worker_shutdown_ttl to stop.
  Status remove(std::chrono::nanoseconds timeout = std::chrono::minutes(3));

  // Keys that this worker serves are held by it as long as it lives, wherever they were before.
  Status serve(const std::vector<std::string>& keys);
  Status stop_serving(const std::vector<std::string>& keys);

 private:
  std::weak_ptr<PoolImpl> pool_;
  std::string id_;
};

}  // namespace tenure

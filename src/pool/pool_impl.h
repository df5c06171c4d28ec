#pragma once

// What lies behind a Pool: the core, and the host that runs the handlers in threads.

#include <memory>
#include <string>
#include <tenure/pool.hpp>

#include "pool/pool_core.h"
#include "pool/thread_host.h"

namespace tenure {

// Thread-safe.
class PoolImpl final : private NodeEvents {
 public:
  static Result<std::shared_ptr<PoolImpl>> open(std::string name, std::string url, PoolOptions options);
  ~PoolImpl() override;
  PoolImpl(const PoolImpl&) = delete;
  PoolImpl& operator=(const PoolImpl&) = delete;

  Result<std::string> add_worker(std::shared_ptr<Handler> handler, WorkerOptions options);
  Status remove_worker(const std::string& id, Deadline deadline);
  // Handlers would wait for themselves.
  Status close(Deadline deadline);
  Status shutdown(Deadline deadline);
  Deadline close_deadline() const;

  PoolCore& core() { return *core_; }

 private:
  PoolImpl(std::string name, PoolOptions options);

  void say(LogLevel level, std::string text);
  Status refuse_handlers(const char* operation) const;

  // NodeEvents: for the logger.
  void joined(std::uint64_t session) override;
  void fenced(std::uint64_t session, FenceReason reason) override;
  void log_delayed(const Error& error) override;
  void log_resumed() override;
  void broken(const Error& error) override;

  const std::string name_;
  const PoolOptions options_;
  std::unique_ptr<ThreadHost> host_;  // outlives the core, whose heart may fence it to the last
  std::unique_ptr<PoolCore> core_;
};

}  // namespace tenure

#pragma once

// The implementation of Pool: its shards, and the host that runs the handlers in threads.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tenure/pool.hpp>
#include <vector>

#include "feeder/queue_room.h"
#include "feeder/spec.h"
#include "guard/death_watch.h"
#include "pool/pool_guard.h"
#include "pool/shards.h"
#include "pool/thread_host.h"
#include "source/source.h"

namespace tenure {

class SourceRunner;

// Thread-safe.
class PoolImpl final {
 public:
  static Result<std::shared_ptr<PoolImpl>> open(std::string name, std::string url, PoolOptions options);
  ~PoolImpl();
  PoolImpl(const PoolImpl&) = delete;
  PoolImpl& operator=(const PoolImpl&) = delete;

  Result<std::string> add_worker(std::shared_ptr<Handler> handler, WorkerOptions options);
  Status remove_worker(const std::string& id, Deadline deadline);
  // A worker that holds partitions. The error of a turn goes to the logger.
  Result<std::string> add_ranked(std::shared_ptr<Handler> handler, WorkerOptions options, const Ring& ring,
                                 std::uint32_t ordinal);
  void write_log(LogLevel level, std::string_view text);
  // The source is opened with its whole URL.
  using OpenSource = std::function<Result<std::unique_ptr<source::Source>>(std::string_view url)>;
  Status add_source(const SourceOptions& options, const OpenSource& open);
  Status remove_source(const std::string& name, Deadline deadline);
  // Handlers must not call it: they would wait for themselves.
  Status close(Deadline deadline);
  Status shutdown(Deadline deadline);
  Deadline close_deadline() const;

  Shards& shards() { return *shards_; }

 private:
  PoolImpl(std::string name, std::string url, PoolOptions options);

  Result<std::string> add_taker(std::shared_ptr<Handler> handler, WorkerOptions options, NodeWorker worker);
  Status add_new_source(feeder::Spec spec, const SourceOptions& options, const OpenSource& open);
  Status dispatch_source(const feeder::Spec& spec, Deadline deadline);
  void end_sources();
  bool forget_left(const std::string& id);
  Status start_guard();
  Result<KnownDeath*> death_watch_of(std::uint32_t shard);
  Status refuse_handlers(const char* operation) const;

  // Logs the events of a shard's node.
  class Voice;

  NodeEvents* voice_of(std::uint32_t shard);

  const std::string name_;
  const PoolOptions options_;
  const std::shared_ptr<Callbacks> callbacks_ = std::make_shared<Callbacks>();
  std::atomic<bool> several_ = false;  // more than one shard
  const std::string url_;
  std::mutex guard_mutex_;
  bool guard_tried_ = false;                                // guarded by guard_mutex_
  std::vector<std::unique_ptr<guard::DeathWatch>> deaths_;  // guarded by guard_mutex_; of the shards
  std::unique_ptr<PoolGuard> guard_;                        // guarded by guard_mutex_; null if there is none
  std::unique_ptr<ThreadHost> host_;  // outlives the cores, whose hearts may fence it until their end
  std::mutex voices_mutex_;
  std::vector<std::unique_ptr<Voice>> voices_;  // guarded by voices_mutex_
  std::mutex leaving_mutex_;
  std::set<std::string> leaving_;  // guarded by leaving_mutex_: workers that were not waited for until they had left
  feeder::QueueRoom room_;
  std::mutex sources_mutex_;
  // Guarded by sources_mutex_, by name. A runner is null while its source is being added.
  std::map<std::string, std::shared_ptr<SourceRunner>> runners_;
  std::map<std::string, std::string> source_workers_;
  std::atomic<bool> overran_ = false;  // the last close() has waited in vain
  std::unique_ptr<Shards> shards_;
};

}  // namespace tenure

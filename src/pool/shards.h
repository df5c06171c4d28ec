#pragma once

// A pool in one process: a core for each of its shards. The core of a key's shard handles the key. All cores handle
// what concerns the whole pool, such as a worker.
//
//     auto shards = Shards::open({.url = url, .pool = name, .shard = {0, wanted}}, parts);
//     if (!shards) return shards.error();
//     (*shards)->add_worker({.id = "w1"}, deadline);
//     TicketPtr ticket = *(*shards)->submit({.key = "k", .text = payload});
//
// The creator of a pool decides the number of shards, and its first shard stores it. A shutdown of one shard is a
// shutdown of all: a member that reads it in one log writes it to the others, so that it does not depend on the process
// that was asked. The first shard is left last, and the other logs are removed together with it. If the first shard
// ended earlier, the pool could be created again while other shards still have holders. And a process that had already
// read the number of shards would create a removed shard again.
//
// A client that keeps no state opens a shard when it first needs it, so that a dispatch costs the same with any number
// of shards. Thread-safe, like the cores.

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pool/emitters.h"
#include "pool/pool_core.h"
#include "pool/shard_reports.h"

namespace tenure {

// The parts for each shard, by its number; all are optional. See PoolCore::open() and CoreOptions. For a client these
// are called lazily, from any thread.
struct ShardParts {
  std::function<Host*(std::uint32_t shard)> host{};
  std::function<CoreListeners(std::uint32_t shard)> listeners{};
  std::function<Result<KnownDeath*>(std::uint32_t shard)> known_death{};
};

// Keys of all shards. Its users include tenure/v1/record.pb.h.
struct JobPage {
  std::vector<v1::ListedJob> jobs;
  std::optional<std::uint64_t> next;  // where to continue; nothing at the end
  Position position = 0;              // sum of the positions of the shards that were read
};

class Shards {
 public:
  // `options.shard.index` is ignored. A count of zero means "as many as the pool has".
  static Result<std::unique_ptr<Shards>> open(CoreOptions options, ShardParts parts = {});
  ~Shards();
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  std::uint32_t count() const { return count_; }
  // Not for a client-only pool.
  PoolCore& core(std::uint32_t shard) { return *places_[shard].core; }

  // See PoolCore.
  Result<TicketPtr> submit(const Request& request);
  // The same at a given shard.
  Result<TicketPtr> submit_to(std::uint32_t shard, const Request& request);
  Status add_worker(const NodeWorker& worker, Deadline deadline);
  Status remove_worker(const std::string& id, Deadline deadline);
  bool has_worker(const std::string& id) const;  // in any of them, as PoolCore has it
  Status serve(const std::string& worker, const std::vector<Bytes>& add, const std::vector<Bytes>& remove,
               Deadline deadline);
  Status drain(const std::string& worker, bool until_empty, Deadline deadline);
  std::vector<std::string> workers() const { return places_.front().core.load()->workers(); }
  // Reads the state of one shard, of a key's shard, or of every shard in turn (each at its own position).
  Status look_at(std::uint32_t shard, const std::function<void(const Machine&)>& what, Deadline deadline);
  Status look_at(BytesView key, const std::function<void(const Machine&)>& what, Deadline deadline) {
    return look_at(shard_of(key, count()), what, deadline);
  }
  Status look(const std::function<void(const Machine&)>& what, Deadline deadline);
  // The listing of one shard, or of a key's shard. Empty for a shard that is gone.
  Result<v1::Told> inquire(std::uint32_t shard, const v1::Ask& ask, Deadline deadline);
  // Lists all shards, at most `limit` keys. The query has neither `from` nor `limit`.
  Result<JobPage> list_jobs(const v1::ListJobs& query, std::uint64_t from, std::size_t limit, Deadline deadline);
  // The same, ordered by id.
  Result<std::vector<v1::ListedDead>> list_dead(std::uint64_t after, std::size_t limit, bool payloads,
                                                Deadline deadline);
  // All sources, ordered by name: of each, what every shard has of it.
  Result<std::map<Bytes, std::vector<v1::ListedSource>>> list_sources(Deadline deadline);
  // In all shards. `own`: one of the library itself.
  Status forget_source(const std::string& source, Deadline deadline, bool own = false);
  Status close(Deadline deadline);
  Status shut_down(Deadline deadline);
  // True if all shards are over, or if one has failed: the others cannot replace it.
  bool over() const;
  Error late(const char* operation) const;
  void host_lost();
  // For a host that all shards share.
  HoldReports& reports() { return reports_; }
  // Emits of its residents. Not for a client-only pool.
  std::shared_ptr<Emitter> emitter(const Hold& hold) { return emitters_->open(hold); }
  const std::string& node_name() const { return places_.front().core.load()->options().node.name; }

 private:
  struct Place {
    std::mutex opening;
    std::unique_ptr<PoolCore> owned;  // guarded by opening
    std::atomic<PoolCore*> core = nullptr;
  };

  explicit Shards(CoreOptions options, ShardParts parts);
  Status open_one(std::uint32_t shard);
  Result<PoolCore*> reach(std::uint32_t shard);
  Status reach_all();
  bool is_gone(std::uint32_t shard, const Error& error);
  std::vector<PoolCore*> open_ones(std::uint32_t from = 0) const;
  static Status each(const std::vector<PoolCore*>& cores, const std::function<Status(PoolCore&)>& what);
  void go_on(const std::function<void()>& what);
  void remove_others(std::function<void()> then);

  CoreOptions options_;  // for the next core to open
  const ShardParts parts_;
  const bool own_callbacks_;
  const std::shared_ptr<Callbacks> callbacks_;
  std::atomic<std::uint32_t> count_ = 1;
  std::deque<Place> places_;  // by shard; `count_` of them
  ShardReports reports_{*this};
  std::unique_ptr<Emitters> emitters_;  // null for a client

  std::mutex mutex_;
  // Guarded by mutex_. The loops reach other cores only through this.
  bool leaving_ = false;               // the cores may not be used any more
  std::vector<PoolCore*> reachable_;   // filled when all are open
  std::function<void()> removal_due_;  // for all shards but the first; waits until all are open
  bool shutdown_seen_ = false;
  bool shutdown_said_ = false;
  std::size_t others_ended_ = 0;  // without the first
};

}  // namespace tenure

#pragma once

// A pool as one process has it: a core for each of its shards. A key is dealt with by the core of its shard; what
// concerns the whole pool, such as a worker, by all of them.
//
//     auto shards = Shards::open({.url = url, .pool = name, .shard = {0, wanted}}, parts);
//     if (!shards) return shards.error();
//     (*shards)->add_worker({.id = "w1"}, deadline);
//     TicketPtr ticket = *(*shards)->submit({.key = "k", .text = payload});
//
// The number of shards is the pool's: whoever creates it decides, and who opens it is told by its first shard. A
// shutdown of one shard is one of all: whoever sees it in a log says it in the others, so that it does not hang on the
// process that was asked. The first shard is left last, and the logs of the others are removed together with it: a pool
// whose first shard is gone would be made anew while others still have holders, and another one that is gone would be
// made anew by whoever has still been told that it is there.
//
// A client that keeps no state opens a shard when it first needs it, so that one dispatch costs the same however many
// there are. Thread-safe, like the cores.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pool/pool_core.h"
#include "pool/shard_reports.h"

namespace tenure {

// What each shard is given, by its number; all may be left out. As in PoolCore::open() and CoreOptions. Those of a
// client are asked for when a shard is first needed, by any thread.
struct ShardParts {
  std::function<Host*(std::uint32_t shard)> host{};
  std::function<CoreListeners(std::uint32_t shard)> listeners{};
  std::function<Result<KnownDeath*>(std::uint32_t shard)> known_death{};
};

// Keys of all shards. Its users include tenure/v1/record.pb.h.
struct JobPage {
  std::vector<v1::ListedJob> jobs;
  std::optional<std::uint64_t> next;  // where to go on; nothing at the end
  Position position = 0;              // of the shards that were asked, together
};

class Shards {
 public:
  // The index of options.shard is of no account; its count of zero stands for what the pool has.
  static Result<std::unique_ptr<Shards>> open(CoreOptions options, ShardParts parts = {});
  ~Shards();
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  std::uint32_t count() const { return count_; }
  // Of a pool that is not client-only.
  PoolCore& core(std::uint32_t shard) { return *places_[shard].core; }

  // As PoolCore has them.
  Result<TicketPtr> submit(const Request& request);
  Status add_worker(const NodeWorker& worker, Deadline deadline);
  Status remove_worker(const std::string& id, Deadline deadline);
  bool has_worker(const std::string& id) const;  // in any of them, as PoolCore has it
  Status serve(const std::string& worker, const std::vector<Bytes>& add, const std::vector<Bytes>& remove);
  Status drain(const std::string& worker);
  std::vector<std::string> workers() const { return places_.front().core.load()->workers(); }
  // At one shard; at that of a key; at one after the other, each as of its own last entry.
  Status look_at(std::uint32_t shard, const std::function<void(const Machine&)>& what, Deadline deadline);
  Status look_at(BytesView key, const std::function<void(const Machine&)>& what, Deadline deadline) {
    return look_at(shard_of(key, count()), what, deadline);
  }
  Status look(const std::function<void(const Machine&)>& what, Deadline deadline);
  // What one shard, or that of a key, says; nothing of one that is gone.
  Result<v1::Told> inquire(std::uint32_t shard, const v1::Ask& ask, Deadline deadline);
  // Of all shards; so many at most. What is asked for has neither `from` nor `limit`.
  Result<JobPage> list_jobs(const v1::ListJobs& query, std::uint64_t from, std::size_t limit, Deadline deadline);
  // The same, in the order of their ids.
  Result<std::vector<v1::ListedDead>> list_dead(std::uint64_t after, std::size_t limit, bool payloads,
                                                Deadline deadline);
  Status close(Deadline deadline);
  Status shut_down(Deadline deadline);
  // All shards are, or one has broken down, which none of the others can make up for.
  bool over() const;
  Error late(const char* operation) const;
  void host_lost();
  // For a host that all shards share.
  HoldReports& reports() { return reports_; }
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

  CoreOptions options_;  // of the next core that is opened
  const ShardParts parts_;
  const bool own_callbacks_;
  const std::shared_ptr<Callbacks> callbacks_;
  std::atomic<std::uint32_t> count_ = 1;
  std::deque<Place> places_;  // by shard; `count_` of them
  ShardReports reports_{*this};

  std::mutex mutex_;
  // Guarded by mutex_. The loops reach other cores through this alone.
  bool leaving_ = false;               // none of them any more
  std::vector<PoolCore*> reachable_;   // from when all are open
  std::function<void()> removal_due_;  // of all but the first, which waits for all to be open
  bool shutdown_seen_ = false;
  bool shutdown_said_ = false;
  std::size_t others_ended_ = 0;  // but the first
};

}  // namespace tenure

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
// process that was asked. The first shard is removed last, since a pool without it would be made anew while the others
// still have holders.
//
// A client that keeps no state opens a shard when it first needs it, so that one dispatch costs the same however many
// there are. Thread-safe, like the cores.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pool/pool_core.h"

namespace tenure {

// What each shard is given, by its number; all may be left out. As in PoolCore::open() and CoreOptions.
struct ShardParts {
  std::function<Host*(std::uint32_t shard)> host{};
  std::function<NodeEvents*(std::uint32_t shard)> listener{};
  std::function<Result<KnownDeath*>(std::uint32_t shard)> known_death{};
};

class Shards final : private HoldReports {
 public:
  // The index of options.shard is of no account; its count of zero stands for what the pool has.
  static Result<std::unique_ptr<Shards>> open(CoreOptions options, const ShardParts& parts = {});
  ~Shards() override;
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  std::uint32_t count() const { return static_cast<std::uint32_t>(cores_.size()); }
  // Of a pool that is not client-only.
  PoolCore& core(std::uint32_t shard) { return *cores_[shard]; }

  // As PoolCore has them.
  Result<TicketPtr> submit(const Request& request);
  Status add_worker(const NodeWorker& worker, Deadline deadline);
  Status remove_worker(const std::string& id, Deadline deadline);
  Status serve(const std::string& worker, const std::vector<Bytes>& add, const std::vector<Bytes>& remove);
  Status drain(const std::string& worker);
  std::vector<std::string> workers() const { return cores_.front()->workers(); }
  // At one shard; at that of a key; at one after the other, each as of its own last entry.
  Status look_at(std::uint32_t shard, const std::function<void(const Machine&)>& what, Deadline deadline);
  Status look_at(BytesView key, const std::function<void(const Machine&)>& what, Deadline deadline) {
    return look_at(shard_of(key, count()), what, deadline);
  }
  Status look(const std::function<void(const Machine&)>& what, Deadline deadline);
  Status close(Deadline deadline);
  Status shut_down(Deadline deadline);
  // All shards are, or one has broken down, which none of the others can make up for.
  bool over() const;
  Error late(const char* operation) const;
  void host_lost();
  // For a host that all shards share.
  HoldReports& reports() { return *this; }
  const std::string& node_name() const { return cores_.front()->node_name(); }
  const std::shared_ptr<Callbacks>& callbacks() { return callbacks_; }

 private:
  explicit Shards(CoreOptions options);
  Status open_one(const ShardParts& parts, std::uint32_t shard);
  Result<PoolCore*> reach(std::uint32_t shard);
  Status reach_all();
  std::vector<PoolCore*> open_ones() const;
  static Status each(const std::vector<PoolCore*>& cores, const std::function<Status(PoolCore&)>& what);
  PoolCore& of(BytesView key) { return *cores_[shard_of(key, count())]; }
  void go_on(const std::function<void()>& what);

  // HoldReports.
  void started(const Hold& hold) override { of(hold.key).reports().started(hold); }
  void finished(const Hold& hold, Bytes result) override { of(hold.key).reports().finished(hold, std::move(result)); }
  void failed(const Hold& hold, Next next, Bytes error, Nanos delay) override {
    of(hold.key).reports().failed(hold, next, std::move(error), delay);
  }
  void released(const Hold& hold) override { of(hold.key).reports().released(hold); }
  void released(const Hold& hold, Bytes blob) override { of(hold.key).reports().released(hold, std::move(blob)); }
  void checkpoint(const Hold& hold, Bytes data) override { of(hold.key).reports().checkpoint(hold, std::move(data)); }
  void handled(const Hold& hold, std::uint64_t message_number) override {
    of(hold.key).reports().handled(hold, message_number);
  }

  CoreOptions options_;  // of the next core that is opened; after open(), of a client's, and guarded by opening_
  const bool own_callbacks_;
  const std::shared_ptr<Callbacks> callbacks_;
  mutable std::mutex opening_;
  // By shard, and never empty. Guarded by opening_ where it is a client's; of others all are open, and stay.
  std::vector<std::unique_ptr<PoolCore>> cores_;

  std::mutex mutex_;
  // Guarded by mutex_. The loops reach other cores through this alone.
  std::vector<PoolCore*> reachable_;  // from when all are open until the first goes
  bool shutdown_seen_ = false;
  bool shutdown_said_ = false;
  std::size_t others_ended_ = 0;  // but the first
};

}  // namespace tenure

#include "pool/shards.h"

#include <algorithm>
#include <future>
#include <utility>

namespace tenure {

Result<std::unique_ptr<Shards>> Shards::open(CoreOptions options, const ShardParts& parts) {
  const bool client_only = options.client_only;
  std::unique_ptr<Shards> shards(new Shards(std::move(options)));
  shards->cores_.resize(1);
  if (Status opened = shards->open_one(parts, 0); !opened) return Failure(opened.error());
  const std::uint32_t count = shards->cores_.front()->shards();
  shards->options_.shard.count = count;
  shards->cores_.resize(count);
  if (client_only) return shards;
  for (std::uint32_t i = 1; i < count; ++i) {
    if (Status opened = shards->open_one(parts, i); !opened) return Failure(opened.error());
  }
  shards->go_on([&] { shards->reachable_ = shards->open_ones(); });
  return shards;
}

Shards::Shards(CoreOptions options)
    : options_(std::move(options)),
      own_callbacks_(options_.callbacks == nullptr),
      callbacks_(own_callbacks_ ? std::make_shared<Callbacks>() : options_.callbacks) {
  options_.callbacks = callbacks_;
}

Status Shards::open_one(const ShardParts& parts, std::uint32_t shard) {
  CoreOptions options = options_;
  options.shard.index = shard;
  // Only a member speaks for others: one that merely looks on may be reading of a pool that is long gone.
  if (parts.host) {
    options.shutdown_seen = [this] { go_on([this] { shutdown_seen_ = true; }); };
  }
  if (shard != 0) {
    options.ended = [this] { go_on([this] { ++others_ended_; }); };
  }
  if (parts.known_death) {
    const Result<KnownDeath*> known = parts.known_death(shard);
    if (!known) return Failure(known.error());
    options.known_death = *known;
  }
  Result<std::unique_ptr<PoolCore>> core = PoolCore::open(std::move(options), parts.host ? parts.host(shard) : nullptr,
                                                          parts.listener ? parts.listener(shard) : nullptr);
  if (!core) return Failure(core.error());
  cores_[shard] = *std::move(core);
  return {};
}

Shards::~Shards() {
  {
    std::lock_guard lock(mutex_);
    reachable_.clear();
  }
  cores_.clear();
  if (own_callbacks_) callbacks_->close();
}

Result<PoolCore*> Shards::reach(std::uint32_t shard) {
  if (!options_.client_only) return cores_[shard].get();
  std::lock_guard lock(opening_);
  // Once the pool has ended here there is nothing more to be opened.
  if (!cores_[shard] && cores_.front()->over()) return cores_.front().get();
  if (!cores_[shard]) {
    if (Status opened = open_one({}, shard); !opened) return Failure(opened.error());
  }
  return cores_[shard].get();
}

Status Shards::reach_all() {
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (const Result<PoolCore*> core = reach(i); !core) return Failure(core.error());
  }
  return {};
}

std::vector<PoolCore*> Shards::open_ones() const {
  std::lock_guard lock(opening_);
  std::vector<PoolCore*> all;
  for (const auto& core : cores_) {
    if (core) all.push_back(core.get());
  }
  return all;
}

// At once, since each may wait for others: the first error, if there is one.
Status Shards::each(const std::vector<PoolCore*>& cores, const std::function<Status(PoolCore&)>& what) {
  std::vector<std::future<Status>> under_way;
  for (std::size_t i = 1; i < cores.size(); ++i) {
    under_way.push_back(std::async(std::launch::async, [&what, core = cores[i]] { return what(*core); }));
  }
  Status all = cores.empty() ? Status() : what(*cores.front());
  for (std::future<Status>& one : under_way) {
    Status status = one.get();
    if (all && !status) all = std::move(status);
  }
  return all;
}

// Dead letters are named by epochs, which tell the shard that gave them.
Result<TicketPtr> Shards::submit(const Request& request) {
  const bool dead = request.kind == Request::Kind::retry_dead || request.kind == Request::Kind::drop_dead;
  const auto shard = dead ? static_cast<std::uint32_t>(request.dead_id % count()) : shard_of(request.key, count());
  const Result<PoolCore*> core = reach(shard);
  if (!core) return Failure(core.error());
  return (*core)->submit(request);
}

Status Shards::add_worker(const NodeWorker& worker, Deadline deadline) {
  const auto add = [&](PoolCore& core) {
    NodeWorker part = worker;
    std::erase_if(part.serves, [&](const Bytes& key) { return cores_[shard_of(key, count())].get() != &core; });
    return core.add_worker(std::move(part), deadline);
  };
  Status added = each(open_ones(), add);
  if (added || count() == 1) return added;
  // Those that have taken it give it up again: a worker is in all shards, or in none.
  constexpr std::chrono::seconds kPatience(30);
  each(open_ones(), [&](PoolCore& core) {
    const std::vector<std::string> has = core.workers();
    if (std::find(has.begin(), has.end(), worker.id) == has.end()) return Status();
    return core.remove_worker(worker.id, after(kPatience));
  });
  return added;
}

Status Shards::remove_worker(const std::string& id, Deadline deadline) {
  return each(open_ones(), [&](PoolCore& core) { return core.remove_worker(id, deadline); });
}

Status Shards::serve(const std::string& worker, const std::vector<Bytes>& add, const std::vector<Bytes>& remove) {
  std::vector<std::vector<Bytes>> added(count());
  std::vector<std::vector<Bytes>> removed(count());
  for (const Bytes& key : add) added[shard_of(key, count())].push_back(key);
  for (const Bytes& key : remove) removed[shard_of(key, count())].push_back(key);
  for (std::uint32_t i = 0; i < count(); ++i) {
    const Result<PoolCore*> core = reach(i);
    if (!core) return Failure(core.error());
    if (Status served = (*core)->serve(worker, std::move(added[i]), std::move(removed[i])); !served) return served;
  }
  return {};
}

Status Shards::drain(const std::string& worker) {
  if (Status reached = reach_all(); !reached) return reached;
  return each(open_ones(), [&](PoolCore& core) { return core.drain(worker); });
}

Status Shards::look_at(std::uint32_t shard, const std::function<void(const Machine&)>& what, Deadline deadline) {
  const Result<PoolCore*> core = reach(shard);
  return core ? (*core)->look(what, deadline) : Status(Failure(core.error()));
}

Status Shards::look(const std::function<void(const Machine&)>& what, Deadline deadline) {
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (Status looked = look_at(i, what, deadline); !looked) return looked;
  }
  return {};
}

// Where the pool is ending, the first shard must not be left by its last member while others are held.
Status Shards::close(Deadline deadline) {
  const auto close = [&](PoolCore& core) { return core.close(deadline); };
  std::vector<PoolCore*> cores = open_ones();
  bool ending = false;
  {
    std::lock_guard lock(mutex_);
    ending = shutdown_seen_;
  }
  if (!ending) return each(cores, close);
  PoolCore& first = *cores.front();
  cores.erase(cores.begin());
  Status closed = each(cores, close);
  Status last = close(first);
  return closed ? last : closed;
}

Status Shards::shut_down(Deadline deadline) {
  if (Status reached = reach_all(); !reached) return reached;
  return each(open_ones(), [&](PoolCore& core) { return core.shut_down(deadline); });
}

bool Shards::over() const {
  bool all = true;
  for (const PoolCore* core : open_ones()) {
    const std::optional<Error> failure = core->failure();
    all = all && failure;
    if (failure && failure->code != Errc::shutting_down && failure->code != Errc::closed) return true;
  }
  return all;
}

Error Shards::late(const char* operation) const {
  for (const PoolCore* core : open_ones()) {
    Error why = core->late(operation);
    if (why.code != Errc::timed_out) return why;
  }
  return cores_.front()->late(operation);
}

void Shards::host_lost() {
  for (PoolCore* core : open_ones()) core->host_lost();
}

// On a loop, or when all are open.
void Shards::go_on(const std::function<void()>& what) {
  std::lock_guard lock(mutex_);
  what();
  if (reachable_.size() < 2) return;
  if (shutdown_seen_ && !std::exchange(shutdown_said_, true)) {
    for (PoolCore* core : reachable_) core->order_shutdown();
  }
  if (others_ended_ + 1 == reachable_.size()) reachable_.front()->leave_at_shutdown();
}

}  // namespace tenure

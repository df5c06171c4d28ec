#include "pool/shards.h"

#include <algorithm>
#include <future>
#include <utility>

namespace tenure {

Result<std::unique_ptr<Shards>> Shards::open(CoreOptions options, const ShardParts& parts) {
  std::unique_ptr<Shards> shards(new Shards(options.callbacks));
  options.callbacks = shards->callbacks_;
  options.shard.index = 0;
  if (Status opened = shards->open_one(options, parts, 0); !opened) return Failure(opened.error());
  const std::uint32_t count = shards->cores_.front()->shards();
  for (std::uint32_t i = 1; i < count; ++i) {
    options.shard = {i, count};
    if (Status opened = shards->open_one(options, parts, i); !opened) return Failure(opened.error());
  }
  shards->go_on([&] {
    for (const auto& core : shards->cores_) shards->reachable_.push_back(core.get());
  });
  return shards;
}

Shards::Shards(const std::shared_ptr<Callbacks>& given)
    : own_callbacks_(given == nullptr), callbacks_(own_callbacks_ ? std::make_shared<Callbacks>() : given) {}

Status Shards::open_one(CoreOptions options, const ShardParts& parts, std::uint32_t shard) {
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
  cores_.push_back(*std::move(core));
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

// At once, since each may wait for others: the first error, if there is one.
Status Shards::each(const std::function<Status(PoolCore&)>& what, std::uint32_t from) {
  std::vector<std::future<Status>> under_way;
  for (std::uint32_t i = from + 1; i < count(); ++i) {
    under_way.push_back(std::async(std::launch::async, [&what, core = cores_[i].get()] { return what(*core); }));
  }
  Status all = from < count() ? what(*cores_[from]) : Status();
  for (std::future<Status>& one : under_way) {
    Status status = one.get();
    if (all && !status) all = std::move(status);
  }
  return all;
}

// Dead letters are named by epochs, which tell the shard that gave them.
Result<TicketPtr> Shards::submit(const Request& request) {
  const bool dead = request.kind == Request::Kind::retry_dead || request.kind == Request::Kind::drop_dead;
  PoolCore& core = dead ? *cores_[request.dead_id % count()] : of(request.key);
  return core.submit(request);
}

Status Shards::add_worker(const NodeWorker& worker, Deadline deadline) {
  const auto add = [&](PoolCore& core) {
    NodeWorker part = worker;
    std::erase_if(part.serves, [&](const Bytes& key) { return &of(key) != &core; });
    return core.add_worker(std::move(part), deadline);
  };
  Status added = each(add);
  if (added || count() == 1) return added;
  // Those that have taken it give it up again: a worker is in all shards, or in none.
  constexpr std::chrono::seconds kPatience(30);
  each([&](PoolCore& core) {
    const std::vector<std::string> has = core.workers();
    if (std::find(has.begin(), has.end(), worker.id) == has.end()) return Status();
    return core.remove_worker(worker.id, after(kPatience));
  });
  return added;
}

Status Shards::remove_worker(const std::string& id, Deadline deadline) {
  return each([&](PoolCore& core) { return core.remove_worker(id, deadline); });
}

Status Shards::serve(const std::string& worker, const std::vector<Bytes>& add, const std::vector<Bytes>& remove) {
  std::vector<std::vector<Bytes>> added(count());
  std::vector<std::vector<Bytes>> removed(count());
  for (const Bytes& key : add) added[shard_of(key, count())].push_back(key);
  for (const Bytes& key : remove) removed[shard_of(key, count())].push_back(key);
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (Status served = cores_[i]->serve(worker, std::move(added[i]), std::move(removed[i])); !served) return served;
  }
  return {};
}

Status Shards::drain(const std::string& worker) {
  return each([&](PoolCore& core) { return core.drain(worker); });
}

Status Shards::look(const std::function<void(const Machine&)>& what, Deadline deadline) {
  for (const auto& core : cores_) {
    if (Status looked = core->look(what, deadline); !looked) return looked;
  }
  return {};
}

// Where the pool is ending, the first shard must not be left by its last member while others are held.
Status Shards::close(Deadline deadline) {
  const auto close = [&](PoolCore& core) { return core.close(deadline); };
  bool ending = false;
  {
    std::lock_guard lock(mutex_);
    ending = shutdown_seen_;
  }
  if (!ending || count() == 1) return each(close);
  Status closed = each(close, 1);
  Status last = close(*cores_.front());
  return closed ? last : closed;
}

Status Shards::shut_down(Deadline deadline) {
  return each([&](PoolCore& core) { return core.shut_down(deadline); });
}

bool Shards::over() const {
  bool all = true;
  for (const auto& core : cores_) {
    const std::optional<Error> failure = core->failure();
    all = all && failure;
    if (failure && failure->code != Errc::shutting_down && failure->code != Errc::closed) return true;
  }
  return all;
}

Error Shards::late(const char* operation) const {
  for (const auto& core : cores_) {
    Error why = core->late(operation);
    if (why.code != Errc::timed_out) return why;
  }
  return cores_.front()->late(operation);
}

void Shards::host_lost() {
  for (const auto& core : cores_) core->host_lost();
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

#include "pool/shards.h"

#include <algorithm>
#include <future>
#include <utility>

#include "pool/worker_rules.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

Result<std::unique_ptr<Shards>> Shards::open(CoreOptions options, ShardParts parts) {
  std::unique_ptr<Shards> shards(new Shards(std::move(options), std::move(parts)));
  shards->places_.emplace_back();
  if (Status opened = shards->open_one(0); !opened) return Failure(opened.error());
  const std::uint32_t count = shards->core(0).options().shard.count;
  shards->options_.shard.count = count;
  while (shards->places_.size() < count) shards->places_.emplace_back();
  shards->count_ = count;
  if (shards->options_.client_only) return shards;
  for (std::uint32_t i = 1; i < count; ++i) {
    if (Status opened = shards->open_one(i); !opened) return Failure(opened.error());
  }
  shards->emitters_ = std::make_unique<Emitters>(*shards, shards->core(0).loop());
  shards->go_on([&] { shards->reachable_ = shards->open_ones(); });
  return shards;
}

Shards::Shards(CoreOptions options, ShardParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      own_callbacks_(options_.callbacks == nullptr),
      callbacks_(own_callbacks_ ? std::make_shared<Callbacks>() : options_.callbacks) {
  options_.callbacks = callbacks_;
}

Status Shards::open_one(std::uint32_t shard) {
  CoreOptions options = options_;
  options.shard.index = shard;
  // Only members act for others: a process that only reads may be reading about a pool that is long gone.
  if (parts_.host) {
    options.shutdown_seen = [this] { go_on([this] { shutdown_seen_ = true; }); };
  }
  if (shard == 0) {
    options.remove_others = [this](std::function<void()> then) { remove_others(std::move(then)); };
  } else {
    options.ended = [this] { go_on([this] { ++others_ended_; }); };
  }
  if (parts_.known_death) options.known_death_of = [this, shard] { return parts_.known_death(shard); };
  Result<std::unique_ptr<PoolCore>> core =
      PoolCore::open(std::move(options), parts_.host ? parts_.host(shard) : nullptr,
                     parts_.listeners ? parts_.listeners(shard) : CoreListeners{});
  if (!core) return Failure(core.error());
  places_[shard].owned = *std::move(core);
  places_[shard].core = places_[shard].owned.get();
  return {};
}

// The first one goes last: the removal of the others' logs runs in it.
Shards::~Shards() {
  emitters_.reset();
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  while (!places_.empty()) places_.pop_back();
  if (own_callbacks_) callbacks_->close();
}

Result<PoolCore*> Shards::reach(std::uint32_t shard) {
  Place& place = places_[shard];
  if (PoolCore* core = place.core) return core;
  std::lock_guard lock(place.opening);
  if (PoolCore* core = place.core) return core;
  // Once the pool has ended here there is nothing more to open.
  if (core(0).over()) return &core(0);
  if (Status opened = open_one(shard); !opened) return Failure(opened.error());
  return place.core.load();
}

Status Shards::reach_all() {
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (const Result<PoolCore*> core = reach(i); !core) return Failure(core.error());
  }
  return {};
}

std::vector<PoolCore*> Shards::open_ones(std::uint32_t from) const {
  std::vector<PoolCore*> all;
  for (std::uint32_t i = from; i < count(); ++i) {
    if (PoolCore* core = places_[i].core) all.push_back(core);
  }
  return all;
}

// All at once, because each may wait for others. Returns the first error, if any.
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

// The id of a dead letter is an epoch, which tells its shard.
Result<TicketPtr> Shards::submit(const Request& request) {
  const bool dead = request.kind == Request::Kind::retry_dead || request.kind == Request::Kind::drop_dead;
  const auto shard = dead ? static_cast<std::uint32_t>(request.dead_id % count()) : shard_of(request.key, count());
  return submit_to(shard, request);
}

Result<TicketPtr> Shards::submit_to(std::uint32_t shard, const Request& request) {
  const Result<PoolCore*> core = reach(shard);
  if (!core) return Failure(core.error());
  return (*core)->submit(request);
}

// The first shard first: if two processes want the same id at once, one gets it everywhere, the other nowhere.
Status Shards::add_worker(const NodeWorker& worker, Deadline deadline) {
  if (Status sound = check_worker(worker); !sound) return sound;
  const auto add = [&](PoolCore& core) {
    NodeWorker part = worker;
    std::erase_if(part.serves, [&](const Bytes& key) { return &this->core(shard_of(key, count())) != &core; });
    return core.add_worker(std::move(part), deadline);
  };
  if (Status added = add(core(0)); !added || count() == 1) return added;
  Status added = each(open_ones(1), add);
  if (added) return added;
  // A worker is in all shards, or in none.
  constexpr std::chrono::seconds kPatience(30);
  remove_worker(worker.id, after(kPatience));
  return added;
}

Status Shards::remove_worker(const std::string& id, Deadline deadline) {
  std::vector<PoolCore*> cores = open_ones();
  std::erase_if(cores, [&](const PoolCore* core) { return !core->has_worker(id); });
  if (cores.empty()) return core(0).remove_worker(id, deadline);
  return each(cores, [&](PoolCore& core) -> Status {
    Status removed = core.remove_worker(id, deadline);
    if (!removed && removed.error().code == Errc::invalid) return {};  // it has left meanwhile
    return removed;
  });
}

bool Shards::has_worker(const std::string& id) const {
  const std::vector<PoolCore*> cores = open_ones();
  return std::any_of(cores.begin(), cores.end(), [&](const PoolCore* core) { return core->has_worker(id); });
}

Status Shards::serve(const std::string& worker, const std::vector<Bytes>& add, const std::vector<Bytes>& remove,
                     Deadline deadline) {
  std::vector<std::vector<Bytes>> added(count());
  std::vector<std::vector<Bytes>> removed(count());
  for (const Bytes& key : add) added[shard_of(key, count())].push_back(key);
  for (const Bytes& key : remove) removed[shard_of(key, count())].push_back(key);
  NodeWorker asked{.id = worker, .replaces = {}, .serves = add};
  asked.serves.insert(asked.serves.end(), remove.begin(), remove.end());
  if (Status sound = check_worker(asked); !sound) return fail(sound.error().code, "serve", sound.error().context);
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (i != 0 && added[i].empty() && removed[i].empty()) continue;
    const Result<PoolCore*> core = reach(i);
    if (!core) return Failure(core.error());
    if (Status served = (*core)->serve(worker, std::move(added[i]), std::move(removed[i]), deadline); !served)
      return served;
  }
  return {};
}

Status Shards::drain(const std::string& worker, bool until_empty, Deadline deadline) {
  if (Status reached = reach_all(); !reached) return reached;
  return each(open_ones(), [&](PoolCore& core) { return core.drain(worker, until_empty, deadline); });
}

Status Shards::look_at(std::uint32_t shard, const std::function<void(const Machine&)>& what, Deadline deadline) {
  const Result<PoolCore*> reached = reach(shard);
  if (!reached) return Failure(reached.error());
  Status looked = (*reached)->look(what, deadline);
  if (!looked && is_gone(shard, looked.error())) return {};
  return looked;
}

Result<v1::Told> Shards::inquire(std::uint32_t shard, const v1::Ask& ask, Deadline deadline) {
  const Result<PoolCore*> reached = reach(shard);
  if (!reached) return Failure(reached.error());
  Result<v1::Told> told = (*reached)->inquire(ask, deadline);
  if (!told && is_gone(shard, told.error())) return v1::Told();
  return told;
}

// A pool that is ending goes shard by shard. A shard that is gone has nothing to show.
bool Shards::is_gone(std::uint32_t shard, const Error& error) {
  return error.code == Errc::shutting_down && shard != 0 && !core(0).over();
}

Status Shards::look(const std::function<void(const Machine&)>& what, Deadline deadline) {
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (Status looked = look_at(i, what, deadline); !looked) return looked;
  }
  return {};
}

// The first shard is left last: if its last member left before the others', the pool could end and be created again.
Status Shards::close(Deadline deadline) {
  const auto close = [&](PoolCore& core) { return core.close(deadline); };
  if (Status closed = each(open_ones(1), close); !closed) return closed;
  return close(core(0));
}

// The first shard last, too: without members, the process that requests the end removes the data.
Status Shards::shut_down(Deadline deadline) {
  if (Status reached = reach_all(); !reached) return reached;
  // Its members may end the first shard before this process asks for it.
  for (PoolCore* core : open_ones()) {
    if (Status expected = core->expect_end(); !expected) return expected;
  }
  const auto shut_down = [&](PoolCore& core) { return core.shut_down(deadline); };
  if (Status ended = each(open_ones(1), shut_down); !ended) return ended;
  return shut_down(core(0));
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
  return places_.front().core.load()->late(operation);
}

void Shards::host_lost() {
  for (PoolCore* core : open_ones()) core->host_lost();
}

// On a loop, or when all are open.
void Shards::go_on(const std::function<void()>& what) {
  std::function<void()> removal;
  {
    std::lock_guard lock(mutex_);
    what();
    if (leaving_ || reachable_.size() < 2) return;
    if (shutdown_seen_ && !std::exchange(shutdown_said_, true)) {
      for (PoolCore* core : reachable_) core->order_shutdown();
    }
    if (others_ended_ + 1 == reachable_.size()) reachable_.front()->leave_at_shutdown();
    removal = std::exchange(removal_due_, nullptr);
  }
  if (removal) remove_others(std::move(removal));
}

void Shards::remove_others(std::function<void()> then) {
  const auto left = std::make_shared<std::atomic<std::size_t>>(0);
  std::lock_guard lock(mutex_);
  if (leaving_) return;
  const std::vector<PoolCore*> cores = options_.client_only ? open_ones() : reachable_;
  if (cores.size() < count()) {
    removal_due_ = std::move(then);
    return;
  }
  *left = cores.size() - 1;
  for (std::size_t i = 1; i < cores.size(); ++i) {
    cores[i]->remove_log([left, then] {
      if (--*left == 0) then();
    });
  }
}

}  // namespace tenure

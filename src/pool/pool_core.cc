#include "pool/pool_core.h"

#include <unistd.h>

#include "base/assert.h"
#include "base/host_name.h"
#include "exec/death_watch.h"
#include "log/open.h"
#include "node/keys/listing.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

// A state that takes longer to load is a large one.
constexpr std::chrono::milliseconds kLoadPatience(50);

void name_node(NodeOptions& node) {
  if (node.host.empty()) node.host = host_name();
  if (node.pid == 0) node.pid = static_cast<std::uint32_t>(getpid());
  if (node.name.empty()) node.name = node.host + ":" + std::to_string(node.pid);
}

Status check_options(const CoreOptions& options) {
  const std::int64_t lease_ms = to_ms(options.node.lease);
  if (lease_ms < kLeaseMsMin || lease_ms > kLeaseMsMax) {
    return fail(Errc::invalid, "open pool", "the worker TTL must lie between 100 ms and an hour");
  }
  if (options.pool.size() > kIdBytesMax) return fail(Errc::invalid, "open pool", "the pool's name is too long");
  return {};
}

// Null where deaths cannot be known, need not be, or are known by somebody else's.
Result<std::unique_ptr<KnownDeath>> deaths_of(const CoreOptions& options) {
  const std::optional<std::string> file = log_file(options.url, options.shard.index);
  if (!options.known_deaths || options.known_death != nullptr || options.client_only || !file) {
    return std::unique_ptr<KnownDeath>();
  }
  Result<std::unique_ptr<exec::DeathWatch>> watch = exec::DeathWatch::open(*file);
  if (!watch) return Failure(watch.error());
  return std::unique_ptr<KnownDeath>(*std::move(watch));
}

Failure ended(const Error& why, const char* operation) { return fail(why.code, operation, why.context); }

}  // namespace

Result<std::unique_ptr<PoolCore>> PoolCore::open(CoreOptions options, Host* host, CoreListeners listeners) {
  if (Status sound = check_options(options); !sound) return Failure(sound.error());
  name_node(options.node);
  const auto warn = [heard = listeners.node](const Error& error) {
    for (NodeEvents* listener : heard) listener->log_warned(error);
  };
  Result<std::unique_ptr<Log>> log = open_log(options.url, {options.pool, false, options.shard, warn});
  if (!log) return Failure(log.error());
  options.shard.count = (*log)->shards();
  options.node.config.shard = options.shard;
  // Whoever opens the pool asks its first shard what there is: that one is the last to go.
  options.node.leaves_at_shutdown = options.shard.count == 1 || options.shard.index != 0;
  options.node.removes_log = options.shard.index == 0;
  if (options.shard.count > 1) options.node.before_removal = options.remove_others;
  Result<std::unique_ptr<KnownDeath>> deaths = deaths_of(options);
  if (!deaths) return Failure(deaths.error());
  return std::unique_ptr<PoolCore>(
      new PoolCore(std::move(options), *std::move(log), *std::move(deaths), host, std::move(listeners)));
}

PoolCore::PoolCore(CoreOptions options, std::unique_ptr<Log> log, std::unique_ptr<KnownDeath> deaths, Host* host,
                   CoreListeners listeners)
    : options_(std::move(options)),
      listeners_(std::move(listeners)),
      shutdown_seen_(std::exchange(options_.shutdown_seen, nullptr)),
      ended_(std::exchange(options_.ended, nullptr)),
      own_callbacks_(options_.callbacks == nullptr),
      callbacks_(own_callbacks_ ? std::make_shared<Callbacks>() : options_.callbacks),
      log_(std::move(log)),
      own_deaths_(std::move(deaths)),
      tickets_(entropy_.id()),
      heart_loop_("tenure-heart"),
      loop_("tenure-node") {
  life_->core = this;
  events_.add(*this);
  for (NodeEvents* listener : listeners_.node) events_.add(*listener);
  loop_.run([&] {
    room_ = std::make_unique<Timer>(loop_);
    if (options_.client_only) {
      client_ = std::make_unique<Client>(*log_, loop_, clock_, entropy_, events_);
      return;
    }
    KnownDeath* known = options_.known_death == nullptr ? own_deaths_.get() : options_.known_death;
    const NodeWorld world{.log = *log_,
                          .loop = loop_,
                          .heart_loop = heart_loop_,
                          .clock = clock_,
                          .entropy = entropy_,
                          .host = host,
                          .known_death = known};
    node_ = std::make_unique<Node>(world, options_.node, events_);
    for (PoolWatcher* watcher : listeners_.pool) node_->listen(*watcher);
    node_->start();
  });
}

PoolCore::~PoolCore() {
  {
    std::lock_guard lock(life_->mutex);
    life_->core = nullptr;
  }
  looker_.reset();
  // No callback of the engine runs after this; those of the node end with it.
  log_->close();
  loop_.run([&] {
    end({Errc::closed, "wait", "the pool was closed"});
    node_.reset();
    client_.reset();
    room_.reset();
  });
  loop_.run([] {});  // what was still to be done finds no node; it must not look for it later
  heart_loop_.run([] {});
  if (own_callbacks_) callbacks_->close();
}

void PoolCore::host_lost() {
  on_loop([](Node& node) { node.host_lost(); });
}

void PoolCore::order_shutdown() {
  on_loop([](Node& node) { node.shut_down(); });
}

void PoolCore::leave_at_shutdown() {
  on_loop([](Node& node) { node.leave_at_shutdown(); });
}

void PoolCore::remove_log(std::function<void()> done) {
  log_->remove([done = std::move(done)](const Status&) { done(); });
}

HoldReports& PoolCore::reports() {
  ASSERT(node_ != nullptr);
  return node_->reports();
}

Status PoolCore::check(const NodeWorker& worker) {
  const auto bad = [](const char* what) { return fail(Errc::invalid, "add worker", what); };
  if (worker.id.empty() || worker.id.size() > kIdBytesMax) return bad("the id is empty, or longer than 256 bytes");
  if (worker.replaces.size() > kIdBytesMax) return bad("the id of the one it replaces is longer than 256 bytes");
  if (worker.weight > kWeightMax) return bad("the weight is over 10000");
  if (worker.window == 0 || worker.window > kWindowMax) return bad("the window is zero, or over 2^20");
  if (worker.serves.size() > kServedPerWorkerMax) return bad("it serves more than 2^20 keys");
  for (const Bytes& key : worker.serves) {
    if (key.empty() || key.size() > kKeyBytesMax) return bad("a key that it serves is empty, or over 1024 bytes");
  }
  return {};
}

Status PoolCore::add_worker(NodeWorker worker, Deadline deadline) {
  if (Status sound = check(worker); !sound) return sound;
  if (options_.client_only) return fail(Errc::refused, "add worker", "the pool was opened as client-only");
  const std::string id = worker.id;
  {
    std::lock_guard lock(mutex_);
    if (heard_.failure) return ended(*heard_.failure, "add worker");
    if (!heard_.workers.emplace(id, HeardWorker{}).second) {
      return fail(Errc::key_exists, "add worker", "this process has a worker '" + id + "' already");
    }
  }
  on_loop([worker = std::move(worker)](Node& node) { node.add_worker(worker); });
  const bool in_time = wait(deadline, [&](const Heard& heard) { return heard.failure || heard.workers.at(id).added; });
  std::lock_guard lock(mutex_);
  if (heard_.failure) return ended(*heard_.failure, "add worker");
  if (in_time) return {};
  const std::optional<Errc> refused = heard_.workers.at(id).refused;
  heard_.workers.erase(id);
  loop_.post([this, id] {
    if (node_) node_->remove_worker(id);
  });
  if (refused) return fail(*refused, "add worker", "another living worker has the id '" + id + "'");
  if (heard_.delay) return ended(*heard_.delay, "add worker");
  return fail(Errc::timed_out, "add worker", "the pool has not taken '" + id + "' in time");
}

bool PoolCore::has_worker(const std::string& id) const {
  std::lock_guard lock(mutex_);
  return heard_.workers.contains(id);
}

Status PoolCore::remove_worker(const std::string& id, Deadline deadline) {
  {
    std::lock_guard lock(mutex_);
    if (heard_.failure) return ended(*heard_.failure, "remove worker");
    if (!heard_.workers.contains(id)) return fail(Errc::invalid, "remove worker", "no worker '" + id + "' here");
  }
  on_loop([id](Node& node) { node.remove_worker(id); });
  const bool in_time = wait(deadline, [&](const Heard& heard) { return heard.failure || !heard.workers.contains(id); });
  if (in_time) return {};
  return fail(Errc::timed_out, "remove worker", "'" + id + "' still holds keys; it leaves once it has none");
}

Status PoolCore::serve(const std::string& worker, std::vector<Bytes> add, std::vector<Bytes> remove) {
  for (const std::vector<Bytes>* keys : {&add, &remove}) {
    for (const Bytes& key : *keys) {
      if (key.empty() || key.size() > kKeyBytesMax) {
        return fail(Errc::invalid, "serve", "a key is empty, or over 1024 bytes");
      }
    }
  }
  {
    std::lock_guard lock(mutex_);
    if (heard_.failure) return ended(*heard_.failure, "serve");
    if (!heard_.workers.contains(worker)) return fail(Errc::invalid, "serve", "no worker '" + worker + "' here");
  }
  on_loop([worker, add = std::move(add), remove = std::move(remove)](Node& node) { node.serve(worker, add, remove); });
  return {};
}

Status PoolCore::drain(const std::string& worker) {
  if (worker.empty() || worker.size() > kIdBytesMax) {
    return fail(Errc::invalid, "drain", "the id is empty, or longer than 256 bytes");
  }
  if (options_.client_only) {
    const Result<PoolCore*> inner = looker();
    return inner ? (*inner)->drain(worker) : Status(Failure(inner.error()));
  }
  {
    std::lock_guard lock(mutex_);
    if (heard_.failure) return ended(*heard_.failure, "drain");
  }
  on_loop([worker](Node& node) { node.drain(worker); });
  return {};
}

std::vector<std::string> PoolCore::workers() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, worker] : heard_.workers) {
    if (worker.added) ids.push_back(id);
  }
  return ids;
}

// A log allows one reader a handle, and the client is reading: whoever looks gets a handle, and a node, of its own.
Result<PoolCore*> PoolCore::looker() {
  std::lock_guard lock(looker_mutex_);
  if (over()) return fail(Errc::closed, "look", "the pool was closed");
  if (!looker_) {
    CoreOptions options = options_;
    options.client_only = false;
    Result<std::unique_ptr<PoolCore>> opened =
        open(std::move(options), nullptr, {.node = {&looker_events_}, .pool = listeners_.pool});
    if (!opened) return Failure(opened.error());
    looker_ = *std::move(opened);
  }
  return looker_.get();
}

Status PoolCore::look(const std::function<void(const Machine&)>& what, Deadline deadline) {
  if (options_.client_only) {
    const Result<PoolCore*> inner = looker();
    return inner ? (*inner)->look(what, deadline) : Status(Failure(inner.error()));
  }
  if (!wait(deadline, [](const Heard& heard) { return heard.caught_up || heard.failure; })) {
    return fail(Errc::timed_out, "look", "the log has not been read to its end yet");
  }
  {
    std::lock_guard lock(mutex_);
    if (heard_.failure) return ended(*heard_.failure, "look");
  }
  loop_.run([&] { what(node_->machine()); });
  return {};
}

Result<v1::Told> PoolCore::inquire(const v1::Ask& ask, Deadline deadline) {
  if (options_.client_only) {
    const Result<PoolCore*> inner = looker();
    if (!inner) return Failure(inner.error());
    if (std::optional<v1::Told> told = told_by_a_member(ask, deadline)) return *std::move(told);
    return (*inner)->inquire(ask, deadline);
  }
  v1::Told told;
  const auto look_up = [&](const Machine& machine) { told = tell(machine, node_->observer(), ask); };
  if (Status looked = look(look_up, deadline); !looked) return Failure(looked.error());
  return told;
}

// Nothing if the looker has the state, or nobody answers.
std::optional<v1::Told> PoolCore::told_by_a_member(const v1::Ask& ask, Deadline deadline) {
  if (wait(std::min(deadline, after(kLoadPatience)), [](const Heard& heard) { return heard.looker_ready; })) return {};
  const auto told = std::make_shared<std::optional<v1::Told>>();  // guarded by mutex_
  std::uint64_t question = 0;
  loop_.run([&] {
    if (!client_) return;
    question =
        client_->inquire(ask, [this, told](v1::Told answer) { hear([&](Heard&) { *told = std::move(answer); }); });
  });
  wait(deadline, [&](const Heard& heard) { return *told || heard.looker_ready || heard.failure; });
  loop_.run([&] {
    if (client_) client_->forget(question);
  });
  std::lock_guard lock(mutex_);
  return std::move(*told);
}

Status PoolCore::close(Deadline deadline) {
  if (over()) return {};
  // A node without workers would be gone before what was submitted is in the log.
  wait_answered(deadline);
  if (options_.client_only) {
    loop_.run([this] { end({Errc::closed, "wait", "the pool was closed"}); });
    return {};
  }
  on_loop([](Node& node) { node.close(); });
  if (wait(deadline, [](const Heard& heard) { return heard.failure.has_value(); })) return {};
  return fail(Errc::timed_out, "close", "some jobs have not stopped yet");
}

Status PoolCore::expect_end() {
  if (over()) return {};
  if (options_.client_only) {
    const Result<PoolCore*> inner = looker();
    return inner ? (*inner)->expect_end() : Status(Failure(inner.error()));
  }
  on_loop([](Node& node) { node.expect_end(); });
  return {};
}

Status PoolCore::shut_down(Deadline deadline) {
  if (const std::optional<Error> why = failure()) {
    if (why->code == Errc::shutting_down) return {};  // by another, be it another shard
    return fail(Errc::closed, "shut down", "the pool was closed");
  }
  if (options_.client_only) {
    const Result<PoolCore*> inner = looker();
    if (!inner) return Failure(inner.error());
    if (Status ended = (*inner)->shut_down(deadline); !ended) return ended;
    loop_.run([this] { end({Errc::shutting_down, "wait", "the pool was shut down"}); });
    return {};
  }
  // The order to shut down must lie behind what this process has submitted.
  wait_answered(deadline);
  on_loop([this](Node& node) {
    shutting_down_ = true;
    node.shut_down();
  });
  if (!wait(deadline, [](const Heard& heard) { return heard.failure.has_value(); })) {
    return fail(Errc::timed_out, "shut down", "some jobs are still under way; the pool ends once they are done");
  }
  std::lock_guard lock(mutex_);
  if (heard_.failure->code == Errc::shutting_down) return {};
  return ended(*heard_.failure, "shut down");
}

bool PoolCore::wait(Deadline deadline, const std::function<bool(const Heard&)>& reached) {
  ASSERT(!loop_.on_loop());
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return reached(heard_); });
}

bool PoolCore::wait_answered(Deadline deadline) {
  return wait(deadline, [this](const Heard& heard) { return unanswered_ == 0 || heard.failure; });
}

void PoolCore::hear(const std::function<void(Heard&)>& what) {
  std::lock_guard lock(mutex_);
  what(heard_);
  changed_.notify_all();
}

void PoolCore::on_loop(std::function<void(Node&)> what) {
  loop_.post([this, what = std::move(what)] {
    if (node_) what(*node_);
  });
}

Error PoolCore::late(const char* operation) const {
  std::lock_guard lock(mutex_);
  if (!heard_.delay) return {Errc::timed_out, operation, "no answer in time"};
  return {heard_.delay->code, operation, "not written yet: " + heard_.delay->context};
}

std::optional<Error> PoolCore::failure() const {
  std::lock_guard lock(mutex_);
  return heard_.failure;
}

}  // namespace tenure

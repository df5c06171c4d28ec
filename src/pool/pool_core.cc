#include "pool/pool_core.h"

#include <unistd.h>

#include "base/assert.h"
#include "base/host_name.h"
#include "exec/watch_deaths.h"
#include "log/open.h"
#include "machine/limits.h"
#include "pool/client_core.h"
#include "pool/member_core.h"

namespace tenure {
namespace {

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

// Null if deaths cannot be detected, or need not be. If no other owner has the detection, `own` has it.
Result<KnownDeath*> find_deaths(const CoreOptions& options, std::unique_ptr<KnownDeath>& own) {
  if (!options.known_deaths || options.client_only) return nullptr;
  if (options.known_death_of) return options.known_death_of();
  Result<std::unique_ptr<guard::DeathWatch>> watch = exec::watch_deaths(options.url, options.pool, options.shard.index);
  if (!watch) return Failure(watch.error());
  own = *std::move(watch);
  return own.get();
}

}  // namespace

Failure ended_because(const Error& why, const char* operation) { return fail(why.code, operation, why.context); }

Status shut_down_after(const Error& why) {
  if (why.code == Errc::shutting_down) return {};
  return fail(Errc::closed, "shut down", "the pool was closed");
}

Result<std::unique_ptr<PoolCore>> PoolCore::open(CoreOptions options, Host* host, CoreListeners listeners) {
  if (Status sound = check_options(options); !sound) return Failure(sound.error());
  name_node(options.node);
  const auto warn = [heard = listeners.node](const Error& error) {
    for (NodeEvents* listener : heard) listener->log_warned(error);
  };
  LogOptions wanted{.pool = options.pool, .create = options.create, .shard = options.shard, .warn = warn};
  Result<std::unique_ptr<Log>> log = open_log(options.url, std::move(wanted));
  if (!log) return Failure(log.error());
  options.shard.count = (*log)->shards();
  options.node.config.shard = options.shard;
  // An opener asks the first shard for the number of shards, so that one ends last.
  options.node.leaves_at_shutdown = options.shard.count == 1 || options.shard.index != 0;
  options.node.removes_log = options.shard.index == 0;
  if (options.shard.count > 1) options.node.before_removal = options.remove_others;
  std::unique_ptr<KnownDeath> own_deaths;
  const Result<KnownDeath*> known_death = find_deaths(options, own_deaths);
  if (!known_death) return Failure(known_death.error());
  const bool client = options.client_only;
  Parts parts{.options = std::move(options), .listeners = std::move(listeners), .log = *std::move(log)};
  if (client) return std::unique_ptr<PoolCore>(new ClientCore(std::move(parts)));
  return std::unique_ptr<PoolCore>(new MemberCore(std::move(parts), std::move(own_deaths), *known_death, host));
}

PoolCore::PoolCore(Parts parts)
    : options_(std::move(parts.options)),
      listeners_(std::move(parts.listeners)),
      own_callbacks_(options_.callbacks == nullptr),
      callbacks_(own_callbacks_ ? std::make_shared<Callbacks>() : options_.callbacks),
      log_(std::move(parts.log)),
      loop_("tenure-node"),
      sender_(loop_, callbacks_, entropy_.id(), options_.client_only),
      ended_(std::exchange(options_.ended, nullptr)) {
  events_.add(*this);
  for (NodeEvents* listener : listeners_.node) events_.add(*listener);
}

PoolCore::~PoolCore() {
  if (own_callbacks_) callbacks_->close();
}

void PoolCore::stop(const std::function<void()>& destroy) {
  // No callback of the engine runs after this. Those of the node end with it.
  log_->close();
  loop_.run([&] {
    end({Errc::closed, "wait", "the pool was closed"});
    destroy();
  });
  loop_.run([] {});  // remaining work finds no node, and must not look for it later
}

void PoolCore::remove_log(std::function<void()> done) {
  log_->remove([done = std::move(done)](const Status&) { done(); });
}

bool PoolCore::wait(Deadline deadline, const std::function<bool()>& reached) const {
  ASSERT(!loop_.on_loop());
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, reached);
}

bool PoolCore::wait_answered(Deadline deadline) const {
  return wait(deadline, [this] { return failure_ || sender_.unanswered() == 0; });
}

void PoolCore::hear(const std::function<void()>& change) {
  std::lock_guard lock(mutex_);
  change();
  changed_.notify_all();
}

Error PoolCore::late(const char* operation) const {
  std::lock_guard lock(mutex_);
  if (!delay_) return {Errc::timed_out, operation, "no answer in time"};
  return {delay_->code, operation, "not written yet: " + delay_->context};
}

std::optional<Error> PoolCore::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void PoolCore::settled(const Settlement& /*settlement*/) { heard_of_tickets(); }

void PoolCore::ticket_lost(std::uint64_t /*ticket*/) { heard_of_tickets(); }

// An entry may settle hundreds of tickets. Their waiters are woken once, at the end of the turn.
void PoolCore::heard_of_tickets() {
  if (std::exchange(turn_posted_, true)) return;
  loop_.post([this] {
    turn_posted_ = false;
    callbacks_->wake();
    const std::optional<std::uint64_t> answers = answered();
    if (answers && sender_.note_answered(*answers)) hear([] {});
  });
}

void PoolCore::log_delayed(const Error& error) {
  hear([&] { delay_ = error; });
}

void PoolCore::log_resumed() {
  hear([&] { delay_.reset(); });
}

void PoolCore::end(const Error& error) {
  // First: once close() has returned, submit() must refuse.
  sender_.close(error);
  hear([&] {
    if (!failure_) failure_ = error;
  });
  if (auto tell = std::exchange(ended_, nullptr)) tell();
  give_up_tickets(error);
  if (const std::optional<std::uint64_t> answers = answered()) sender_.note_answered(*answers);
}

}  // namespace tenure

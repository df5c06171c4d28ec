#include "pool/pool_impl.h"

#include <algorithm>
#include <thread>

#include "base/assert.h"
#include "base/output.h"
#include "log/engines.h"
#include "log/open.h"
#include "machine/own_names.h"
#include "pool/crash_mark.h"
#include "pool/source_runner.h"
#include "pool/worker_rules.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::size_t concurrency_of(const PoolOptions& options) {
  if (options.concurrency != 0) return options.concurrency;
  return std::max<std::size_t>(4, 2 * std::size_t{std::thread::hardware_concurrency()});
}

Status check(const PoolOptions& options) {
  const auto bad = [](const char* what) { return fail(Errc::invalid, "open pool", what); };
  if (options.max_queued_jobs == 0) return bad("max_queued_jobs is zero");
  if (options.max_delayed_jobs == 0) return bad("max_delayed_jobs is zero");
  if (options.max_attempts == 0) return bad("max_attempts is zero");
  if (options.pending_job_ttl <= milliseconds(0)) return bad("pending_job_ttl is not positive");
  if (options.worker_shutdown_ttl <= milliseconds(0)) return bad("worker_shutdown_ttl is not positive");
  if (options.retry_backoff <= milliseconds(0)) return bad("retry_backoff is not positive");
  if (options.retry_backoff_max < options.retry_backoff) return bad("retry_backoff_max is below retry_backoff");
  if (options.concurrency > 4096) return bad("concurrency is over 4096");
  if (options.shards > kShardsMax) return bad("shards is over 256");
  if (options.assignment == Assignment::chosen && !options.choose && !options.client_only) {
    return bad("chosen assignment needs a function that chooses");
  }
  if (options.choose && options.assignment != Assignment::chosen) {
    return bad("choose is set, and the assignment is not chosen: it would never be called");
  }
  return {};
}

PoolConfig config_of(const PoolOptions& options) {
  PoolConfig config;
  config.max_queued_jobs = options.max_queued_jobs;
  config.max_delayed_jobs = options.max_delayed_jobs;
  config.max_attempts = options.max_attempts;
  config.pending_job_ttl_ms = options.pending_job_ttl.count();
  config.worker_shutdown_ttl_ms = options.worker_shutdown_ttl.count();
  config.backoff_base_ms = options.retry_backoff.count();
  config.backoff_cap_ms = options.retry_backoff_max.count();
  config.quarantine_after = options.quarantine_after;
  config.assignment = options.assignment;
  return config;
}

CoreOptions core_options(const std::string& name, std::string url, const PoolOptions& options) {
  CoreOptions core;
  core.url = std::move(url);
  core.pool = name;
  core.shard.count = options.shards;
  core.client_only = options.client_only;
  core.node.name = options.node_name;
  core.node.lease = options.worker_ttl == milliseconds(0) ? default_lease(core.url) : options.worker_ttl;
  core.node.choose = options.choose;
  core.node.restores = options.heal;
  core.node.sets_options = true;
  core.node.config = config_of(options);
  return core;
}

}  // namespace

// Logs with the shard's number if the pool has several.
class PoolImpl::Voice final : public NodeEvents {
 public:
  Voice(PoolImpl& pool, std::uint32_t shard) : pool_(pool), shard_(shard) {}

  void joined(std::uint64_t session) override { write_log(LogLevel::info, "joined as session " + to_hex(session)); }
  void fenced(std::uint64_t session, FenceReason reason) override {
    write_log(LogLevel::warning, "session " + to_hex(session) + " was fenced: " + std::string(to_string(reason)));
  }
  void log_delayed(const Error& error) override {
    write_log(LogLevel::warning, "waiting for the log: " + error.message());
  }
  void log_resumed() override { write_log(LogLevel::info, "the log is back"); }
  void choice_failed(const Error& error) override { write_log(LogLevel::error, error.message()); }
  void log_warned(const Error& error) override { write_log(LogLevel::warning, error.message()); }
  void restoring(const Restored& it) override { write_log(LogLevel::warning, to_string(it, false)); }
  void restored(const Restored& it) override { write_log(LogLevel::warning, to_string(it, true)); }
  void not_restored(std::string_view why) override {
    write_log(LogLevel::warning, "the log lost what had been read, and it is not put back: " + std::string(why));
  }
  void options_differ(const PoolConfig& pool) override {
    const PoolConfig own = config_of(pool_.options_);
    write_log(LogLevel::warning, "the pool was created with other options, and those of this process have no effect: " +
                                     to_text(differing_options(own, pool)));
  }
  void broken(const Error& error) override { write_log(LogLevel::error, error.message()); }
  void worker_unfit(BytesView worker, BytesView error) override {
    write_log(LogLevel::warning, "worker '" + Bytes(worker) +
                                     "' is unfit: its starts keep failing, and it gets no keys " +
                                     "until one succeeds; the last error: " + Bytes(error));
  }
  void applied(const Machine& machine) override {
    pool_.room_.note(shard_, machine.queued(), machine.config().max_queued_jobs);
  }
  void worker_fit(BytesView worker) override {
    write_log(LogLevel::info, "worker '" + Bytes(worker) + "' is fit again");
  }

 private:
  void write_log(LogLevel level, const std::string& text) {
    pool_.write_log(level, pool_.several_ ? "shard " + std::to_string(shard_) + ": " + text : text);
  }

  PoolImpl& pool_;
  const std::uint32_t shard_;
};

Result<std::shared_ptr<PoolImpl>> PoolImpl::open(std::string name, std::string url, PoolOptions options) {
  if (Status sound = check(options); !sound) return Failure(sound.error());
  CoreOptions wanted = core_options(name, url, options);
  std::shared_ptr<PoolImpl> pool(new PoolImpl(std::move(name), std::move(url), std::move(options)));
  wanted.callbacks = pool->callbacks_;
  const bool client_only = wanted.client_only;
  ShardParts parts;
  if (!client_only) {
    parts.host = [host = pool->host_.get()](std::uint32_t shard) { return &host->part(shard); };
    parts.known_death = [impl = pool.get()](std::uint32_t shard) { return impl->death_watch_of(shard); };
  }
  parts.listeners = [impl = pool.get()](std::uint32_t shard) { return CoreListeners{.node = {impl->voice_of(shard)}}; };
  Result<std::unique_ptr<Shards>> shards = Shards::open(std::move(wanted), parts);
  if (!shards) return Failure(shards.error());
  pool->shards_ = *std::move(shards);
  pool->several_ = pool->shards_->count() > 1;
  pool->room_.set_shards(pool->shards_->count());
  for (std::uint32_t i = 0; !client_only && i < pool->shards_->count(); ++i) {
    PoolCore& core = pool->shards_->core(i);
    pool->host_->part(i).attach(core.reports(), core.loop());
  }
  if (!client_only) {
    pool->host_->set_emitters([shards = pool->shards_.get()](const Hold& hold) { return shards->emitter(hold); });
  }
  return pool;
}

NodeEvents* PoolImpl::voice_of(std::uint32_t shard) {
  std::lock_guard lock(voices_mutex_);
  return voices_.emplace_back(std::make_unique<Voice>(*this, shard)).get();
}

PoolImpl::PoolImpl(std::string name, std::string url, PoolOptions options)
    : name_(std::move(name)), options_(std::move(options)), url_(std::move(url)) {
  ThreadHostOptions host;
  host.concurrency = concurrency_of(options_);
  host.on_lease_lost = options_.on_lease_lost;
  host.on_stop_overdue = options_.on_stop_overdue;
  host.pool = name_;
  host.log = [this](LogLevel level, const std::string& text) { write_log(level, text); };
  host_ = std::make_unique<ThreadHost>(std::move(host));
  // On a thread of its own already; tickets may outlive the pool.
  if (options_.logger) {
    callbacks_->report_throws(
        [logger = options_.logger](const std::string& text) { logger(LogLevel::error, one_line(text)); });
  }
}

PoolImpl::~PoolImpl() {
  if (!shards_) {
    callbacks_->close();
    return;
  }
  ASSERT(!host_->on_executor() && !callbacks_->on_thread());
  // Where close() has waited for the handlers in vain, nobody waits for them again.
  const Deadline deadline = overran_ ? after(milliseconds(0)) : close_deadline();
  const Status closed = shards_->close(deadline);
  const bool quiet = closed && host_->shut(std::max(deadline, after(milliseconds(100))));
  if (!quiet) host_->abandon();
  end_sources();
  shards_.reset();
  callbacks_->close();
  // Abandoned threads still use it, maybe until the process ends.
  // NOLINTNEXTLINE(bugprone-unused-return-value): it is leaked.
  if (!quiet) static_cast<void>(host_.release());
  // NOLINTNEXTLINE(bugprone-unused-return-value): so is the page in which they would note a crash.
  if (!quiet) static_cast<void>(guard_.release());
}

// Beside the shard's file, where it is one. Null elsewhere: the guard and the leases tell.
Result<KnownDeath*> PoolImpl::death_watch_of(std::uint32_t shard) {
  const std::optional<std::string> file = log_file(url_, name_, shard);
  if (!file) return nullptr;
  Result<std::unique_ptr<guard::DeathWatch>> watch = guard::DeathWatch::open(*file);
  if (!watch) return Failure(watch.error());
  std::lock_guard lock(guard_mutex_);
  return deaths_.emplace_back(*std::move(watch)).get();
}

// With the first worker: processes that only dispatch need none.
Status PoolImpl::start_guard() {
  std::lock_guard lock(guard_mutex_);
  if (guard_ || (guard_tried_ && options_.guard != Guard::on)) return {};
  guard_tried_ = true;
  // Where no other process could open the log, there is nobody to take over.
  if (options_.guard == Guard::off || reach_of(url_) == Reach::process) return {};
  const std::string command = find_guard();
  if (command.empty()) {
    if (options_.guard == Guard::on) return fail(Errc::unavailable, "start the guard", "'tenure-guard' was not found");
    return {};
  }
  PoolGuard::Options wanted{.command = command, .url = url_, .pool = name_, .shared = {}, .warn = {}};
  for (const auto& watch : deaths_) wanted.shared.push_back(watch->descriptor());
  wanted.warn = [this](const std::string& text) { write_log(LogLevel::warning, text); };
  Result<std::unique_ptr<PoolGuard>> started = PoolGuard::start(std::move(wanted));
  if (!started) {
    if (options_.guard == Guard::on) return Failure(started.error());
    write_log(LogLevel::warning, started.error().message());
    return {};
  }
  guard_ = *std::move(started);
  if (options_.note_crashes) note_crashes();
  host_->set_guard(*guard_, options_.note_crashes);
  return {};
}

Deadline PoolImpl::close_deadline() const {
  const milliseconds patience =
      options_.close_timeout > milliseconds(0) ? options_.close_timeout : options_.worker_shutdown_ttl + seconds(5);
  return after(patience);
}

Result<std::string> PoolImpl::add_worker(std::shared_ptr<Handler> handler, WorkerOptions options) {
  if (!handler) return fail(Errc::invalid, "add worker", "there is no handler");
  Result<Takes> takes = takes_of(options.takes.empty() ? handler->takes() : options.takes);
  if (!takes) return Failure(takes.error());
  NodeWorker worker;
  worker.takes = *std::move(takes);
  return add_taker(std::move(handler), std::move(options), std::move(worker));
}

Result<std::string> PoolImpl::add_ranked(std::shared_ptr<Handler> handler, WorkerOptions options, const Ring& ring,
                                         std::uint32_t ordinal) {
  NodeWorker worker;
  worker.takes = Takes::nothing();
  worker.takes.add_type(JobKind::resident, kPartitionType);
  worker.ring = ring;
  worker.ordinal = ordinal;
  return add_taker(std::move(handler), std::move(options), std::move(worker));
}

// `worker`: what the options do not say.
Result<std::string> PoolImpl::add_taker(std::shared_ptr<Handler> handler, WorkerOptions options, NodeWorker worker) {
  if (options.id.empty()) options.id = shards_->node_name() + "/" + to_hex(SystemEntropy().id()).substr(0, 8);
  std::string id = options.id;
  (void)forget_left(id);
  if (Status guarded = start_guard(); !guarded) return Failure(guarded.error());
  // An existing worker with this id must keep its handler.
  if (!host_->add_handler(id, std::move(handler))) {
    return fail(Errc::key_exists, "add worker", "this process already has a worker '" + id + "'");
  }
  worker.id = id;
  worker.weight = options.weight;
  worker.window = options.window;
  worker.replaces = std::move(options.replaces);
  worker.serves = std::move(options.serves);
  const Status added = shards_->add_worker(worker, after(options.join_timeout));
  if (added) return id;
  host_->remove_handler(id);
  return Failure(added.error());
}

Status PoolImpl::remove_worker(const std::string& id, Deadline deadline) {
  if (forget_left(id)) return {};
  Status removed = shards_->remove_worker(id, deadline);
  if (removed) host_->remove_handler(id);
  std::lock_guard lock(leaving_mutex_);
  if (removed) {
    leaving_.erase(id);
  } else if (removed.error().code == Errc::timed_out) {
    leaving_.insert(id);
  }
  return removed;
}

// Called when the worker was leaving and a wait for it timed out. True if it has left since.
bool PoolImpl::forget_left(const std::string& id) {
  {
    std::lock_guard lock(leaving_mutex_);
    if (!leaving_.contains(id) || shards_->has_worker(id)) return false;
    leaving_.erase(id);
  }
  host_->remove_handler(id);
  return true;
}

Status PoolImpl::refuse_handlers(const char* operation) const {
  if (!host_->on_executor()) return {};
  return fail(Errc::invalid, operation, "a handler of the pool would wait for itself");
}

Status PoolImpl::close(Deadline deadline) {
  if (Status outside = refuse_handlers("close"); !outside) return outside;
  Status closed = shards_->close(deadline);
  overran_ = !closed && closed.error().code == Errc::timed_out;
  return closed;
}

Status PoolImpl::shutdown(Deadline deadline) {
  if (Status outside = refuse_handlers("shut down"); !outside) return outside;
  return shards_->shut_down(deadline);
}

void PoolImpl::write_log(LogLevel level, std::string_view text) {
  if (!options_.logger) return;
  callbacks_->post([logger = options_.logger, level, line = one_line(text)] { logger(level, line); });
}

}  // namespace tenure

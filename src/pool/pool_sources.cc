// Pool::add_source and Pool::remove_source.

#include <utility>

#include "base/entropy.h"
#include "pool/pool_impl.h"
#include "pool/source_runner.h"
#include "source/feeder_url.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr std::size_t kListedAtOnce = 1024;
constexpr std::chrono::seconds kLeavePatience{30};
constexpr const char* kAddSource = "add source";

Result<feeder::Spec> spec_of(const SourceOptions& options) {
  const Result<source::FeederUrl> url = source::read_feeder_url(options.url);
  if (!url) return Failure(url.error());
  feeder::Spec spec;
  spec.name = options.name.empty() ? url->name : options.name;
  spec.kind = url->kind;
  spec.stream = url->stream;
  spec.start = url->start.value_or(options.start);
  spec.by_key = url->by_key.value_or(options.order == SourceOrder::by_key);
  spec.type = url->type.value_or(options.type);
  spec.max_attempts = options.max_attempts;
  if (Status sound = spec.check(); !sound) return Failure(sound.error());
  if (const auto start = source::parse_start(spec.start, 0); !start) return Failure(start.error());
  return spec;
}

// The jobs of a source that there are. Nothing may be dispatched for it any more.
Result<std::vector<Bytes>> feeders_of(Shards& shards, const std::string& name, Deadline deadline) {
  v1::ListJobs query;
  query.set_prefix(feeder::feeder_key(name, ""));
  const Result<JobPage> page = shards.list_jobs(query, 0, kListedAtOnce, deadline);
  if (!page) return Failure(page.error());
  std::vector<Bytes> keys;
  for (const v1::ListedJob& job : page->jobs) keys.push_back(job.key());
  return keys;
}

Result<TicketPtr> stop_key(Shards& shards, const Bytes& key) {
  Request request;
  request.own = true;
  request.kind = Request::Kind::stop;
  request.key = key;
  return shards.submit(request);
}

Status stop_keys(Shards& shards, const std::vector<Bytes>& keys, bool& found, Deadline deadline) {
  std::vector<TicketPtr> tickets;
  for (const Bytes& key : keys) {
    Result<TicketPtr> ticket = stop_key(shards, key);
    if (!ticket) return Failure(ticket.error());
    tickets.push_back(*std::move(ticket));
  }
  for (const TicketPtr& ticket : tickets) {
    if (!ticket->wait(Stage::done, deadline)) return Failure(shards.late("remove source"));
    const Status stopped = ticket->outcome(Stage::done);
    if (!stopped && stopped.error().code != Errc::no_such_key) return stopped;
    found = found || stopped;
  }
  return {};
}

}  // namespace

// First what dispatches feeders, then the feeders, and last what they have emitted.
Status remove_source(Shards& shards, const std::string& name, Deadline deadline) {
  bool found = false;
  if (Status stopped = stop_keys(shards, {feeder::coordinator_key(name)}, found, deadline); !stopped) return stopped;
  for (;;) {
    const Result<std::vector<Bytes>> keys = feeders_of(shards, name, deadline);
    if (!keys) return Failure(keys.error());
    if (keys->empty()) break;
    if (Status stopped = stop_keys(shards, *keys, found, deadline); !stopped) return stopped;
  }
  const auto sources = shards.list_sources(deadline);
  if (!sources) return Failure(sources.error());
  for (const auto& [sequence, parts] : *sources) {
    const auto key = feeder::read_own_key(sequence);
    if (!key || key->name != name) continue;
    found = true;
    const Status forgotten = shards.forget_source(sequence, deadline, true);
    if (!forgotten && forgotten.error().code != Errc::no_such_key) return forgotten;
  }
  if (found) return {};
  return fail(Errc::no_such_key, "remove source", "the pool has no source '" + name + "'");
}

// The pool keeps the first options. A worker for other ones gets none of the source's residents, since their type is
// another one.
Status PoolImpl::add_source(const SourceOptions& options, const OpenSource& open) {
  if (options_.client_only) return fail(Errc::invalid, kAddSource, "a client has no workers");
  Result<feeder::Spec> spec = spec_of(options);
  if (!spec) return Failure(spec.error());
  const std::string name = spec->name;
  {
    const std::lock_guard lock(sources_mutex_);
    if (!runners_.try_emplace(name, nullptr).second) {
      return fail(Errc::key_exists, kAddSource, "this process has the source '" + name + "' already");
    }
  }
  Status added = add_new_source(*std::move(spec), options, open);
  if (added) return added;
  const std::lock_guard lock(sources_mutex_);
  runners_.erase(name);
  return added;
}

Status PoolImpl::add_new_source(feeder::Spec spec, const SourceOptions& options, const OpenSource& open) {
  const Deadline deadline = after(options.timeout);
  Result<std::unique_ptr<source::Source>> source = open(options.url);
  if (!source) return Failure(source.error());
  auto runner =
      std::make_shared<SourceRunner>(spec, *std::move(source), *shards_, room_,
                                     [this](LogLevel level, const std::string& text) { write_log(level, text); });
  Takes takes = Takes::nothing();
  takes.add_type(JobKind::resident, spec.resident_type());
  WorkerOptions worker;
  worker.id = shards_->node_name() + "/source/" + spec.name + "/" + to_hex(SystemEntropy().id()).substr(0, 8);
  worker.join_timeout = options.timeout;
  NodeWorker own;
  own.takes = std::move(takes);
  own.isolates = true;  // its residents are never to blame for the death of their process
  const Result<std::string> added = add_taker(runner, std::move(worker), std::move(own));
  if (!added) return Failure(added.error());
  if (Status same = dispatch_source(spec, deadline); !same) {
    if (const Status left = remove_worker(*added, after(kLeavePatience)); !left) {
      write_log(LogLevel::warning, left.error().message());
    }
    return same;
  }
  const std::lock_guard lock(sources_mutex_);
  runners_[spec.name] = std::move(runner);
  source_workers_[spec.name] = *added;
  return {};
}

Status PoolImpl::dispatch_source(const feeder::Spec& spec, Deadline deadline) {
  const Request request = source_request(spec, {});
  const Result<TicketPtr> ticket = shards_->submit(request);
  if (!ticket) return Failure(ticket.error());
  if (!(*ticket)->wait(Stage::accepted, deadline)) return Failure(shards_->late(kAddSource));
  const Status accepted = (*ticket)->outcome(Stage::accepted);
  if (accepted || accepted.error().code != Errc::key_exists) return accepted;
  std::optional<feeder::Spec> there;
  const Status looked = shards_->look_at(
      request.key,
      [&](const Machine& machine) {
        if (const auto job = machine.find(request.key)) there = feeder::read_spec(job->payload);
      },
      deadline);
  if (!looked) return looked;
  if (there && *there == spec) return {};
  return fail(Errc::key_exists, kAddSource,
              "the pool has a source '" + spec.name +
                  "' with other options: " + (there ? feeder::difference(*there, spec) : "they cannot be read") +
                  "; use the same, give this source another name, or remove the other one first");
}

Status PoolImpl::remove_source(const std::string& name, Deadline deadline) {
  Status removed = tenure::remove_source(*shards_, name, deadline);
  if (!removed && removed.error().code != Errc::no_such_key) return removed;
  std::shared_ptr<SourceRunner> runner;
  std::string worker;
  {
    const std::lock_guard lock(sources_mutex_);
    const auto found = runners_.find(name);
    if (found == runners_.end() || !found->second) return removed;
    runner = found->second;
    worker = source_workers_[name];
  }
  if (Status left = remove_worker(worker, deadline); !left) return left;
  runner->end();
  const std::lock_guard lock(sources_mutex_);
  runners_.erase(name);
  source_workers_.erase(name);
  return {};
}

void PoolImpl::end_sources() {
  std::map<std::string, std::shared_ptr<SourceRunner>> runners;
  {
    const std::lock_guard lock(sources_mutex_);
    runners.swap(runners_);
  }
  for (const auto& [name, runner] : runners) {
    if (runner) runner->end();
  }
}

Status Pool::add_source(const SourceOptions& options) { return impl_->add_source(options, source::open_fed_source); }

Status Pool::remove_source(const std::string& name, Timeout timeout) {
  return impl_->remove_source(name, after(timeout));
}

}  // namespace tenure

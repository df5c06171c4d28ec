// The listings of a Pool, as plain values.

#include <algorithm>

#include "node/keys/listing.h"
#include "pool/pool_impl.h"
#include "pool/source_infos.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;

KeyInfo key_info(const v1::ListedJob& job) {
  return {.key = job.key(),
          .kind = static_cast<JobKind>(job.kind()),
          .type = job.type(),
          .state = static_cast<JobState>(job.state()),
          .worker = job.worker(),
          .epoch = job.epoch(),
          .attempt = job.attempt(),
          .in_state = milliseconds(job.since_ms()),
          .why = job.why(),
          .error = job.error()};
}

// A worker is in every shard, with some of its keys in each.
void add_worker_infos(const v1::Told& told, std::vector<WorkerInfo>& infos) {
  for (const v1::ListedWorker& worker : told.workers()) {
    auto known =
        std::find_if(infos.begin(), infos.end(), [&](const WorkerInfo& info) { return info.id == worker.id(); });
    if (known == infos.end()) known = infos.emplace(infos.end());
    WorkerInfo& info = *known;
    info.id = worker.id();
    info.node = worker.node();
    info.host = worker.host();
    info.pid = worker.pid();
    info.weight = worker.weight();
    info.draining = info.draining || worker.draining();
    info.unfit = info.unfit || worker.unfit();
    if (!worker.error().empty()) info.error = worker.error();
    info.keys += worker.keys();
    info.tasks += worker.tasks();
    info.lease = milliseconds(worker.lease_ms());
    info.takes.assign(worker.takes().begin(), worker.takes().end());
    info.age = std::max(info.age, milliseconds(worker.age_ms()));
  }
}

Failure no_such_key(std::string_view key) {
  return fail(Errc::no_such_key, "look up key", "'" + std::string(key) + "' has no job");
}

}  // namespace

std::vector<std::string> Pool::local_workers() const { return impl_->shards().workers(); }

Result<std::vector<WorkerInfo>> Pool::workers(Timeout timeout) const {
  std::vector<WorkerInfo> infos;
  const Deadline deadline = after(timeout);
  v1::Ask ask;
  ask.mutable_workers();
  for (std::uint32_t shard = 0; shard < impl_->shards().count(); ++shard) {
    const Result<v1::Told> told = impl_->shards().inquire(shard, ask, deadline);
    if (!told) return Failure(told.error());
    add_worker_infos(*told, infos);
  }
  return infos;
}

Result<KeyPage> Pool::keys(const KeyQuery& query, Timeout timeout) const {
  v1::ListJobs wanted;
  wanted.set_prefix(query.prefix);
  wanted.set_worker(query.worker);
  if (query.state) wanted.set_state_plus_one(static_cast<std::uint32_t>(*query.state) + 1);
  const std::size_t limit = std::clamp<std::size_t>(query.limit, 1, kListedMax);
  const Result<JobPage> listed = impl_->shards().list_jobs(wanted, query.from, limit, after(timeout));
  if (!listed) return Failure(listed.error());
  KeyPage page;
  for (const v1::ListedJob& job : listed->jobs) page.keys.push_back(key_info(job));
  page.next = listed->next;
  return page;
}

Result<KeyInfo> Pool::key(std::string_view key, Timeout timeout) const {
  v1::Ask ask;
  ask.mutable_jobs()->set_key(std::string(key));
  const Result<v1::Told> told = impl_->shards().inquire(shard_of(key, impl_->shards().count()), ask, after(timeout));
  if (!told) return Failure(told.error());
  if (told->jobs().empty()) return no_such_key(key);
  return key_info(told->jobs(0));
}

Result<std::string> Pool::payload(std::string_view key, Timeout timeout) const {
  std::optional<std::string> payload;
  const auto look_up = [&](const Machine& machine) {
    if (const std::optional<JobInfo> job = machine.find(key)) payload = Bytes(job->payload);
  };
  if (const Status looked = impl_->shards().look_at(key, look_up, after(timeout)); !looked) {
    return Failure(looked.error());
  }
  if (!payload) return no_such_key(key);
  return *std::move(payload);
}

Result<Holder> Pool::holder(std::string_view key, Timeout timeout) const {
  const Result<KeyInfo> info = this->key(key, timeout);
  if (!info) return Failure(info.error());
  if (info->worker.empty()) {
    return fail(Errc::no_such_key, "look up holder", "nobody holds '" + std::string(key) + "'");
  }
  return Holder{info->worker, info->epoch};
}

Result<std::vector<SourceInfo>> Pool::sources(Timeout timeout) const {
  const auto listed = impl_->shards().list_sources(after(timeout));
  if (!listed) return Failure(listed.error());
  return source_infos(*listed, impl_->shards().count());
}

Result<std::vector<DeadJob>> Pool::dead_jobs(std::uint64_t after_id, std::size_t limit, Timeout timeout) const {
  const Deadline deadline = after(timeout);
  const Result<std::vector<v1::ListedDead>> listed =
      impl_->shards().list_dead(after_id, std::min(limit, kListedMax), true, deadline);
  if (!listed) return Failure(listed.error());
  std::vector<DeadJob> dead;
  for (const v1::ListedDead& one : *listed) {
    dead.push_back({one.id(), one.key(), static_cast<JobKind>(one.kind()), one.type(), one.quarantined(), one.epoch(),
                    one.error(), one.payload(), milliseconds(one.age_ms()), one.attempts()});
  }
  return dead;
}

}  // namespace tenure

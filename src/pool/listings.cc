// The listings of a Pool, from the machine's state to plain values.

#include <algorithm>

#include "pool/pool_impl.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;

// Of what one page copies while the node's loop waits; a larger limit is cut to it.
constexpr std::size_t kPageMax = 10'000;
// Keys that one turn on the loop looks at: a filter that few pass must not hold up the node.
constexpr std::size_t kLookedAtMax = 50'000;

milliseconds since(const Machine& machine, std::int64_t then_ms) {
  return milliseconds(std::max<std::int64_t>(machine.log_time_ms() - then_ms, 0));
}

KeyInfo key_info(const Machine& machine, const JobInfo& job) {
  return {Bytes(job.key), job.kind, job.state, Bytes(job.worker), job.epoch, job.attempt, since(machine, job.since_ms)};
}

bool wanted(const KeyQuery& query, const JobInfo& job) {
  if (!job.key.starts_with(query.prefix)) return false;
  if (!query.worker.empty() && job.worker != query.worker) return false;
  return !query.state || job.state == *query.state;
}

// A worker is in every shard, with some of its keys in each.
void add_worker_infos(const Machine& machine, std::vector<WorkerInfo>& infos) {
  const Roster& roster = machine.roster();
  for (const WorkerIx ix : roster.by_age) {
    const RosterWorker& worker = roster.workers[ix];
    auto known = std::find_if(infos.begin(), infos.end(), [&](const WorkerInfo& info) { return info.id == worker.id; });
    if (known == infos.end()) known = infos.emplace(infos.end());
    WorkerInfo& info = *known;
    info.id = worker.id;
    info.weight = worker.place.weight;
    info.draining = info.draining || worker.draining;
    info.keys += worker.keys_held;
    info.tasks += worker.tasks_held;
    info.age = std::max(info.age, since(machine, worker.joined_ms));
    if (const Session* session = roster.session(worker.session)) {
      info.node = session->node;
      info.host = session->host;
      info.pid = session->pid;
      info.lease = milliseconds(session->lease_ms);
    }
  }
}

// Looks the key up and hands it to `take`; Errc::no_such_key if it has no job.
Status with_key(PoolImpl& pool, std::string_view key, std::chrono::nanoseconds timeout,
                const std::function<void(const Machine&, const JobInfo&)>& take) {
  bool found = false;
  Status looked = pool.shards().look_at(
      key,
      [&](const Machine& machine) {
        const std::optional<JobInfo> job = machine.find(key);
        found = job.has_value();
        if (job) take(machine, *job);
      },
      after(timeout));
  if (!looked) return looked;
  if (!found) return fail(Errc::no_such_key, "look up key", "'" + std::string(key) + "' has no job");
  return {};
}

}  // namespace

std::vector<std::string> Pool::local_workers() const { return impl_->shards().workers(); }

Result<std::vector<WorkerInfo>> Pool::workers(Timeout timeout) const {
  std::vector<WorkerInfo> infos;
  const Status looked =
      impl_->shards().look([&](const Machine& machine) { add_worker_infos(machine, infos); }, after(timeout));
  if (!looked) return Failure(looked.error());
  return infos;
}

Result<KeyPage> Pool::keys(const KeyQuery& query, Timeout timeout) const {
  KeyPage page;
  const Deadline deadline = after(timeout);
  const std::size_t limit = std::clamp<std::size_t>(query.limit, 1, kPageMax);
  // One shard after the other: where to go on is a shard, and a place in it.
  auto shard = static_cast<std::uint32_t>(query.from >> 32);
  auto from = static_cast<SlotId>(query.from);
  while (shard < impl_->shards().count() && page.keys.size() < limit) {
    SlotId next = kNone;  // where the shard is gone, there is nothing to be seen
    const Status looked = impl_->shards().look_at(
        shard,
        [&](const Machine& machine) {
          std::size_t looked_at = 0;
          next = machine.each_job(from, [&](const JobInfo& job) {
            if (wanted(query, job)) page.keys.push_back(key_info(machine, job));
            return page.keys.size() < limit && ++looked_at < kLookedAtMax;
          });
        },
        deadline);
    if (!looked) return Failure(looked.error());
    from = next;
    if (from != kNone) continue;
    ++shard;
    from = 0;
  }
  if (shard < impl_->shards().count()) page.next = std::uint64_t{shard} << 32 | from;
  return page;
}

Result<KeyInfo> Pool::key(std::string_view key, Timeout timeout) const {
  KeyInfo info;
  const Status looked = with_key(*impl_, key, timeout,
                                 [&](const Machine& machine, const JobInfo& job) { info = key_info(machine, job); });
  if (!looked) return Failure(looked.error());
  return info;
}

Result<std::string> Pool::payload(std::string_view key, Timeout timeout) const {
  std::string payload;
  const Status looked =
      with_key(*impl_, key, timeout, [&](const Machine&, const JobInfo& job) { payload = job.payload; });
  if (!looked) return Failure(looked.error());
  return payload;
}

Result<Holder> Pool::holder(std::string_view key, Timeout timeout) const {
  Holder holder;
  const Status looked = with_key(*impl_, key, timeout,
                                 [&](const Machine&, const JobInfo& job) { holder = {Bytes(job.worker), job.epoch}; });
  if (!looked) return Failure(looked.error());
  if (holder.worker.empty())
    return fail(Errc::no_such_key, "look up holder", "nobody holds '" + std::string(key) + "'");
  return holder;
}

Result<std::vector<DeadJob>> Pool::dead_jobs(std::uint64_t after_id, std::size_t limit, Timeout timeout) const {
  std::vector<DeadJob> dead;
  const std::size_t most = std::min(limit, kPageMax);
  const Status looked = impl_->shards().look(
      [&](const Machine& machine) {
        const auto& letters = machine.dead();
        std::size_t taken = 0;
        for (auto at = letters.upper_bound(after_id); at != letters.end() && taken < most; ++at, ++taken) {
          const DeadLetter& letter = at->second;
          dead.push_back({at->first, letter.key, letter.kind, letter.quarantined, letter.epoch, letter.error,
                          Bytes(machine.dead_payload(letter)), since(machine, letter.since_ms)});
        }
      },
      after(timeout));
  if (!looked) return Failure(looked.error());
  std::sort(dead.begin(), dead.end(), [](const DeadJob& a, const DeadJob& b) { return a.id < b.id; });
  if (dead.size() > most) dead.resize(most);
  return dead;
}

}  // namespace tenure

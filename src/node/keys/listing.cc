#include "node/keys/listing.h"

#include <algorithm>

#include "node/keys/partition_listing.h"
#include "node/keys/why.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

bool wanted(const v1::ListJobs& query, const JobInfo& job) {
  if (!job.key.starts_with(query.prefix())) return false;
  if (!query.worker().empty() && job.worker != query.worker()) return false;
  return query.state_plus_one() == 0 || static_cast<std::uint32_t>(job.state) + 1 == query.state_plus_one();
}

std::int64_t since(const Machine& machine, std::int64_t then_ms) {
  return std::max<std::int64_t>(machine.log_time_ms() - then_ms, 0);
}

void add(const Machine& machine, const JobInfo& job, WhyWaiting& why, v1::Told& told) {
  v1::ListedJob& listed = *told.add_jobs();
  listed.set_key(Bytes(job.key));
  listed.set_kind(static_cast<std::uint32_t>(job.kind));
  listed.set_state(static_cast<std::uint32_t>(job.state));
  listed.set_worker(Bytes(job.worker));
  listed.set_epoch(job.epoch);
  listed.set_attempt(job.attempt);
  listed.set_since_ms(since(machine, job.since_ms));
  listed.set_error(Bytes(job.error));
  listed.set_type(Bytes(job.type));
  listed.set_why(why.of(job));
}

void list_jobs(const Machine& machine, const v1::ListJobs& query, std::size_t most, std::size_t bytes_most,
               v1::Told& told) {
  WhyWaiting why(machine);
  if (!query.key().empty()) {
    if (const std::optional<JobInfo> job = machine.find(query.key()); job && wanted(query, *job)) {
      add(machine, *job, why, told);
    }
    return;
  }
  const std::size_t limit = std::clamp<std::size_t>(query.limit(), 1, most);
  std::size_t looked_at = 0;
  std::size_t bytes = 0;
  const SlotId next = machine.each_job(query.from(), [&](const JobInfo& job) {
    if (wanted(query, job)) {
      add(machine, job, why, told);
      bytes += told.jobs(told.jobs_size() - 1).ByteSizeLong();
    }
    return static_cast<std::size_t>(told.jobs_size()) < limit && bytes < bytes_most && ++looked_at < kLookedAtMax;
  });
  if (next != kNone) told.set_next_plus_one(next + 1);
}

void list_workers(const Machine& machine, const Observer& observer, v1::Told& told) {
  for (const WorkerIx ix : machine.workers().by_age) {
    const PoolWorker& worker = machine.workers()[ix];
    const Session* session = machine.sessions().find(worker.session);
    if (session == nullptr) continue;
    v1::ListedWorker& listed = *told.add_workers();
    listed.set_id(worker.id);
    listed.set_node(session->node);
    listed.set_host(session->host);
    listed.set_pid(session->pid);
    listed.set_weight(worker.place.weight);
    listed.set_draining(worker.draining || worker.replaced);
    listed.set_unfit(worker.fitness.unfit);
    listed.set_error(worker.fitness.error);
    listed.set_keys(worker.keys_held);
    listed.set_tasks(worker.tasks_held);
    listed.set_lease_ms(session->lease_ms);
    listed.set_lease_left_ms(std::max<std::int64_t>(session->lease_ms - to_ms(observer.silence(session->id)), 0));
    listed.set_age_ms(since(machine, worker.joined_ms));
    listed.set_ordinal_plus_one(worker.ordinal + 1);
    for (const Bytes& taken : worker.takes.texts()) listed.add_takes(taken);
  }
}

void list_dead(const Machine& machine, const v1::ListDead& query, std::size_t most, std::size_t bytes_most,
               v1::Told& told) {
  const std::size_t limit = std::clamp<std::size_t>(query.limit(), 1, most);
  const std::map<std::uint64_t, DeadLetter>& letters = machine.dead();
  std::size_t bytes = 0;
  for (auto at = letters.upper_bound(query.after()); at != letters.end(); ++at) {
    told.set_more_dead(static_cast<std::size_t>(told.dead_size()) == limit || bytes >= bytes_most);
    if (told.more_dead()) return;
    const DeadLetter& letter = at->second;
    v1::ListedDead& listed = *told.add_dead();
    listed.set_id(at->first);
    listed.set_key(letter.key);
    listed.set_kind(static_cast<std::uint32_t>(letter.kind));
    listed.set_quarantined(letter.quarantined);
    listed.set_epoch(letter.epoch);
    listed.set_error(letter.error);
    if (query.payloads()) listed.set_payload(Bytes(machine.dead_payload(letter)));
    listed.set_age_ms(since(machine, letter.since_ms));
    listed.set_type(Bytes(machine.dead_type(letter)));
    listed.set_attempts(machine.dead_attempts(letter));
    bytes += listed.ByteSizeLong();
  }
}

void list_sources(const Machine& machine, const v1::ListSources& query, std::size_t most, std::size_t bytes_most,
                  v1::Told& told) {
  const std::size_t limit = std::clamp<std::size_t>(query.limit(), 1, most);
  std::size_t bytes = 0;
  const auto& sources = machine.sources();
  for (auto at = sources.upper_bound(query.after()); at != sources.end(); ++at) {
    told.set_more_sources(static_cast<std::size_t>(told.sources_size()) == limit || bytes >= bytes_most);
    if (told.more_sources()) return;
    v1::ListedSource& listed = *told.add_sources();
    listed.set_name(at->first);
    listed.set_position(at->second.position);
    listed.set_epoch(at->second.epoch);
    listed.set_key(at->second.key);
    listed.set_tasks(at->second.tasks);
    listed.set_buried(at->second.buried);
    listed.set_lost(at->second.lost);
    listed.set_lost_first(at->second.lost_first);
    listed.set_lost_last(at->second.lost_last);
    if (at->second.lost != 0) listed.set_lost_age_ms(since(machine, at->second.lost_ms));
    listed.set_end(at->second.end);
    listed.set_trouble(at->second.trouble);
    bytes += listed.ByteSizeLong();
  }
}

// If the history is larger than the limit, the client would have to know which tenures are missing. So it gets none.
void list_history(const Machine& machine, const v1::ListHistory& query, std::size_t most, std::size_t bytes_most,
                  v1::Told& told) {
  const std::optional<JobInfo> job = machine.find(query.key());
  std::size_t bytes = 0;
  const auto room = [&] { return static_cast<std::size_t>(told.history_size()) < most && bytes < bytes_most; };
  for (const PastTenure& past : machine.past_tenures()) {
    if (past.key != query.key() || !room()) continue;
    v1::ListedTenure& listed = *told.add_history();
    listed.set_epoch(past.epoch);
    listed.set_worker(past.worker);
    listed.set_started_ms(past.started_ms);
    listed.set_ended_ms(past.ended_ms);
    listed.set_why_plus_one(static_cast<std::uint32_t>(past.why) + 1);
    listed.set_quarantined(past.quarantined);
    listed.set_error(past.error);
    bytes += listed.ByteSizeLong();
  }
  if (!job) return;
  // If any kept tenure is left, the last one is.
  const bool kept = job->past == Past::kept && told.history_size() != 0;
  told.set_history_known((kept || job->past == Past::none) && room());
  WhyWaiting why(machine);
  add(machine, *job, why, told);
  if (job->worker.empty()) return;
  v1::ListedTenure& listed = *told.add_history();
  listed.set_epoch(job->epoch);
  listed.set_worker(Bytes(job->worker));
  listed.set_started_ms(job->started_ms);
}

}  // namespace

v1::Told tell(const Machine& machine, const Observer& observer, const v1::Ask& ask, std::size_t most,
              std::size_t bytes_most) {
  v1::Told told;
  told.set_question(ask.question());
  told.set_position(machine.position());
  if (ask.has_jobs()) list_jobs(machine, ask.jobs(), most, bytes_most, told);
  if (ask.has_workers()) list_workers(machine, observer, told);
  if (ask.has_history()) list_history(machine, ask.history(), most, bytes_most, told);
  if (ask.has_dead()) list_dead(machine, ask.dead(), most, bytes_most, told);
  if (ask.has_partitions()) list_partitions(machine, told);
  if (ask.has_sources()) list_sources(machine, ask.sources(), most, bytes_most, told);
  return told;
}

v1::Told tell_history(const Machine& machine, BytesView key) {
  v1::Told told;
  v1::ListHistory query;
  query.set_key(Bytes(key));
  list_history(machine, query, SIZE_MAX, SIZE_MAX, told);
  return told;
}

}  // namespace tenure

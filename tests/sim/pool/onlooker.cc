#include "sim/pool/onlooker.h"

#include <algorithm>
#include <array>

#include "machine/backlog.h"
#include "machine/own_names.h"
#include "machine/rules.h"
#include "sim/pool/tastes.h"
#include "tenure/v1/record.pb.h"

namespace tenure::sim {

namespace {

// A digest now and then is written down even where all is well, so that the checker sees what it judges.
constexpr std::uint64_t kSampleEvery = 64;

HowEnded how_ended(TenureEnd why) {
  switch (why) {
    case TenureEnd::handoff: return HowEnded::handoff;
    case TenureEnd::stopped: return HowEnded::stopped;
    case TenureEnd::done: return HowEnded::done;
    case TenureEnd::failed: return HowEnded::failed;
    case TenureEnd::left:
    case TenureEnd::fenced:
    case TenureEnd::crashed:
    case TenureEnd::expired: break;
  }
  return HowEnded::lost;
}

}  // namespace

Step step_of(TicketState state) {
  switch (state) {
    case TicketState::accepted: return Step::accepted;
    case TicketState::refused: return Step::refused;
    case TicketState::started: return Step::started;
    case TicketState::done: return Step::done;
    case TicketState::failed: return Step::failed;
    case TicketState::stopped: return Step::stopped;
  }
  return Step::refused;
}

Onlooker::Onlooker(LogServer& server, Recorder& recorder)
    : server_(server), recorder_(recorder), machine_(std::make_unique<Machine>(kRehearsedVersion)) {
  server_.observe([this](const LogServer::Stored& stored,
                         LogServer::LogNumber log) { server_.is_ghost(log) ? take_ghost(stored, log) : take(stored); },
                  [this](Position kept, bool removed) { rebuild(kept, removed); },
                  [this](bool wiped) { replaced(wiped); });
}

Onlooker::~Onlooker() { server_.observe(nullptr, nullptr, nullptr); }

// For a ghost, only what its followers may learn, and their digests.
void Onlooker::take_ghost(const LogServer::Stored& stored, LogServer::LogNumber log) {
  Machine& machine = *ghosts_.at(log);
  ghost_ = silent_ = true;
  machine.apply({stored.entry.position, stored.entry.time_ms, stored.entry.data}, *this);
  ghost_ = silent_ = false;
  appended_[{machine.origin(), stored.entry.position, machine.engine_ms()}] = {log_losses_.at(log), true};
  newest_version_ = std::max(newest_version_, machine.version());
  known_[stored.entry.position].push_back({stored.order, machine.digest()});
}

void Onlooker::replaced(bool wiped) {
  recorder_.add(LogLost{.kept = 0, .replaced = !wiped, .wiped = wiped});
  log_losses_[server_.current() - 1] = losses_++;
  ghosts_[server_.current() - 1] = std::exchange(machine_, std::make_unique<Machine>(kRehearsedVersion));
}

void Onlooker::take(const LogServer::Stored& stored) {
  if (!silent_) write_holders_words(stored);
  machine_->apply({stored.entry.position, stored.entry.time_ms, stored.entry.data}, *this);
  newest_version_ = std::max(newest_version_, machine_->version());
  if (silent_) return;
  look_for_left_waiting();
  appended_[{machine_->origin(), stored.entry.position, machine_->engine_ms()}] = {losses_, false};
  known_[stored.entry.position].push_back({stored.order, machine_->digest()});
  if (stored.order % kSampleEvery == 0) recorder_.add(Digest{kOnlooker, stored.order, machine_->digest()});
}

// Between entries, as the state says it.
void Onlooker::look_for_left_waiting() {
  const Machine& machine = *machine_;
  const auto& by_age = machine.workers().by_age;
  const auto has_room = [&](WorkerIx ix) {
    const PoolWorker& worker = machine.workers()[ix];
    return worker.helps && worker.open() && worker.tasks_held < worker.window;
  };
  const bool decides =
      machine.config().assignment != Assignment::chosen && machine.version() >= version_of(Rule::helpers);
  if (!decides || machine.queued() == 0 || std::none_of(by_age.begin(), by_age.end(), has_room)) return;
  const auto served = [&](BytesView key) {
    return std::any_of(by_age.begin(), by_age.end(), [&](WorkerIx ix) {
      const std::vector<Bytes>& serves = machine.workers()[ix].serves;
      return std::binary_search(serves.begin(), serves.end(), key);
    });
  };
  machine.each_job(0, [&](const JobInfo& job) {
    if (job.kind != JobKind::task || job.state != JobState::queued || served(job.key)) return true;
    for (const WorkerIx ix : by_age) {
      const Takes& takes = machine.workers()[ix].takes;
      const bool taken = takes.all(JobKind::task) || takes.has(JobKind::task, job.type);
      if (!has_room(ix) || !taken) continue;
      recorder_.add(LogLeftWaiting{machine.position(), Bytes(job.key), machine.workers()[ix].id});
      return false;
    }
    return true;
  });
}

// By the records alone: whether they count is for the checker to say.
void Onlooker::write_holders_words(const LogServer::Stored& stored) {
  v1::Batch batch;
  if (!batch.ParseFromString(stored.entry.data) || batch.format() != 1 || batch.sender() == 0) return;
  for (const v1::Record& record : batch.records()) {
    const auto write = [&](const auto& holder, const Bytes& bytes) {
      recorder_.add(LogBlob{stored.entry.position, batch.sender(), batch.sequence(), holder.key(), holder.epoch(),
                            Recorder::number_in(bytes)});
    };
    if (record.has_checkpoint()) write(record.checkpoint(), record.checkpoint().data());
    if (record.has_released() && record.released().has_blob()) write(record.released(), record.released().blob());
    if (record.has_drain()) write_ranked(record.drain().worker(), false);
    if (record.has_end() && record.end().culprits_size() != 0) {
      const auto& culprits = record.end().culprits();
      recorder_.add(LogCulprits{stored.entry.position, record.end().session(), {culprits.begin(), culprits.end()}});
    }
  }
}

void Onlooker::rebuild(Position kept, bool removed) {
  if (removed) recorder_.add(LogRemoved{machine_->gone()});
  recorder_.add(LogLost{.kept = kept, .removed = removed});
  ++losses_;
  machine_ = std::make_unique<Machine>(kRehearsedVersion);
  silent_ = true;
  for (const LogServer::Stored& stored : server_.history()) take(stored);
  silent_ = false;
}

void Onlooker::applied(ProcessNumber process, Position position, std::uint64_t digest) {
  const auto found = known_.find(position);
  if (found == known_.end()) return recorder_.add(Digest{process, 0, digest});
  const Known& last = found->second.back();
  const bool agrees = std::any_of(found->second.begin(), found->second.end(),
                                  [&](const Known& known) { return known.digest == digest; });
  if (!agrees) recorder_.add(Digest{kOnlooker, last.order, last.digest});
  if (!agrees || last.order % kSampleEvery == 0) {
    recorder_.add(Digest{process, last.order, agrees ? last.digest : digest});
  }
}

void Onlooker::granted(const At&, const Grant& grant) {
  const std::uint64_t ticket = of_partitions_.contains(grant.ticket) ? 0 : grant.ticket;
  if (ghost_) recorder_.add(GhostGranted{Bytes(grant.tenure.key), grant.tenure.epoch, ticket});
  if (silent_) return;
  recorder_.add(LogGranted{machine_->position(), Bytes(grant.tenure.key), grant.tenure.epoch, ticket, grant.first,
                           grant.tenure.session, Bytes(grant.tenure.worker)});
}

void Onlooker::emitted(const At&, const Emitted& it) {
  if (silent_) return;
  recorder_.add(
      LogEmitted{machine_->position(), Bytes(it.source), Bytes(it.key), it.epoch, it.before, it.position, it.lost});
}

void Onlooker::source_restored(const At&, BytesView source, std::uint64_t position) {
  if (!silent_) recorder_.add(LogSourceRestored{machine_->position(), Bytes(source), position});
}

void Onlooker::ended(const At&, const TenureRef& tenure, TenureEnd why) {
  const bool died = why == TenureEnd::crashed || why == TenureEnd::expired;
  if (!silent_) {
    recorder_.add(LogEnded{machine_->position(), Bytes(tenure.key), tenure.epoch, how_ended(why), died});
  }
}

void Onlooker::partitions_set(const At&, const Ring& ring) {
  if (!silent_) recorder_.add(LogRing{machine_->position(), ring});
}

void Onlooker::partition_made(const At&, BytesView, std::uint64_t ticket) { of_partitions_.insert(ticket); }

void Onlooker::buried(const At&, BytesView key, std::uint64_t dead_id, bool quarantined) {
  if (ghost_) return;
  if (is_partition(Bytes(key))) {
    graves_[dead_id] = 0;  // no client digs it up
    if (!silent_) recorder_.add(LogPartitionDead{machine_->position(), Bytes(key)});
    return;
  }
  // The job's ticket was told of its failure just before.
  graves_[dead_id] = failed_last_;
  if (!silent_) recorder_.add(LogBuried{machine_->position(), failed_last_, quarantined});
}

void Onlooker::settled(const At&, const Settlement& settlement) {
  if (of_partitions_.contains(settlement.ticket)) return;
  if (ghost_) return recorder_.add(GhostSettled{settlement.ticket, step_of(settlement.state)});
  if (settlement.state == TicketState::failed) failed_last_ = settlement.ticket;
  if (silent_) return;
  recorder_.add(LogSettled{machine_->position(), settlement.ticket, step_of(settlement.state), settlement.code,
                           machine_->version() >= kTakesVersion});
}

void Onlooker::joined(const At&, std::uint64_t session) {
  if (silent_) return;
  const Session& joiner = *machine_->sessions().find(session);
  recorder_.add(LogJoined{machine_->position(), session, !joiner.newcomer});
  if (joiner.newcomer) return;
  recorder_.note([&] {
    return to_hex(session) + " remembers position " + std::to_string(joiner.remembers) + " of " +
           std::to_string(joiner.remembers_ms) + " ms, and " + (joiner.restores ? "puts it back" : "only tells");
  });
}

void Onlooker::shutdown_began(const At&) {
  if (!silent_) recorder_.add(LogShutdown{machine_->position()});
}

void Onlooker::restoring(const At&, const Restored& it) {
  if (silent_) return;
  const Appended& entry = appended_.at({it.log, it.position, machine_->sessions().find(it.session)->remembers_ms});
  recorder_.add(LogRestoring{machine_->position(), entry.losses, it.position, entry.ghost});
  recorder_.note([&] { return "by " + to_hex(it.session); });
}

void Onlooker::restored(const At&, const Restored&) {
  if (!silent_) recorder_.add(LogRestoreEnded{machine_->position()});
}

void Onlooker::job_restored(const At&, BytesView key, std::uint64_t ticket, bool dead) {
  if (is_partition(Bytes(key))) return;
  if (!silent_) recorder_.add(LogRestored{machine_->position(), Bytes(key), ticket, dead});
}

void Onlooker::session_ended(const At&, std::uint64_t session, SessionEnd how) {
  if (!silent_ && how != SessionEnd::left) recorder_.add(LogFenced{machine_->position(), session});
  static constexpr std::array<const char*, 4> kHow{"left", "fenced", "crashed", "expired"};
  if (!silent_)
    recorder_.note([&] {
      return "log " + std::to_string(machine_->position()) + ": session " + to_hex(session) +
             " ended: " + kHow[static_cast<std::size_t>(how)];
    });
}

void Onlooker::worker_added(const At&, std::uint64_t session, BytesView worker) {
  if (!silent_) recorder_.note([&] { return "worker " + Bytes(worker) + " added by " + to_hex(session); });
  write_ranked(worker, true);
}

void Onlooker::worker_refused(const At&, std::uint64_t session, BytesView worker, Errc) {
  if (!silent_) recorder_.note([&] { return "worker " + Bytes(worker) + " refused to " + to_hex(session); });
}

void Onlooker::write_ranked(BytesView worker, bool open) {
  if (!silent_ && worker.ends_with(kRankedWorker)) recorder_.add(LogRanked{machine_->position(), Bytes(worker), open});
}

void Onlooker::worker_unfit(const At&, std::uint64_t, BytesView worker, BytesView) {
  write_ranked(worker, false);
  if (!silent_) recorder_.add(LogUnfit{machine_->position(), Bytes(worker)});
}

void Onlooker::worker_fit(const At&, std::uint64_t, BytesView worker) {
  write_ranked(worker, true);
  if (!silent_) recorder_.add(LogFit{machine_->position(), Bytes(worker)});
}

void Onlooker::worker_removed(const At&, std::uint64_t session, BytesView worker) {
  write_ranked(worker, false);
  if (!silent_) recorder_.add(LogFit{machine_->position(), Bytes(worker)});
  if (!silent_) recorder_.note([&] { return "worker " + Bytes(worker) + " of " + to_hex(session) + " removed"; });
}

void Onlooker::shutdown_drained(const At& at) {
  if (!silent_) recorder_.add(LogDrained{at.position});
}

// Of the whole partition that the part belongs to.
std::uint64_t Onlooker::backlog_with(BytesView part) const {
  const Ring& ring = machine_->config().ring;
  std::uint64_t sum = 0;
  const std::uint32_t first = partition_of_part(ring, partition_of_key(part).value_or(0));
  for (std::uint32_t other = first; other < ring.parts(); other += ring.partitions) {
    const auto job = machine_->find(partition_key(other));
    if (job && job->has_checkpoint) sum += read_backlog(job->checkpoint).value_or(0);
  }
  return sum;
}

void Onlooker::stop_asked(const At&, const TenureRef& tenure, StopReason reason) {
  if (silent_) return;
  if (reason == StopReason::start_timeout) {
    recorder_.add(LogTimedOut{machine_->position(), Bytes(tenure.key), tenure.epoch});
  }
  if (reason == StopReason::move && is_partition(Bytes(tenure.key))) {
    recorder_.add(LogPartitionMoves{machine_->position(), Bytes(tenure.key), backlog_with(tenure.key)});
  }
  recorder_.note([&] { return "stop asked: " + Bytes(tenure.key) + " epoch " + std::to_string(tenure.epoch); });
}

}  // namespace tenure::sim
